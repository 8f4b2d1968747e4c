//! A node as the scheduler sees it: what it is, what is on it, and what of it is taken. Knows no plugin.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Deref;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node as Object, Taint};

use crate::amounts::Amounts;
use crate::pod::{HostPort, PodView};
use crate::select::Labels;

/// What the node itself says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    pub name: Arc<str>,
    pub labels: Labels,
    pub annotations: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`: cordoned.
    pub unschedulable: bool,
    pub allocatable: Amounts,
    /// Sizes in bytes, under every name that an image has there.
    pub images: HashMap<String, i64>,
    /// What it declares that it can do.
    pub features: BTreeSet<String>,
}

/// A node with the pods that are on it or assumed to be. Derefs to what it says itself.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its place in everything that the cluster counts by node.
    pub slot: usize,
    pub facts: Arc<NodeFacts>,
    pub pods: Vec<Arc<PodView>>,
    /// The sum of what its pods ask for.
    pub requested: Amounts,
    /// The same with a usual size for containers that ask for nothing.
    pub counted: Amounts,
    pub ports: HashMap<HostPort, u32>,
}

impl Deref for Node {
    type Target = NodeFacts;

    fn deref(&self) -> &NodeFacts {
        &self.facts
    }
}

impl NodeFacts {
    pub fn of(node: &Object) -> Self {
        let spec = node.spec.as_ref();
        let status = node.status.as_ref();
        let mut images = HashMap::new();
        for image in status.and_then(|status| status.images.as_ref()).into_iter().flatten() {
            for name in image.names.iter().flatten() {
                images.insert(name.clone(), image.size_bytes.unwrap_or_default());
            }
        }
        Self {
            name: node.metadata.name.as_deref().unwrap_or_default().into(),
            labels: node.metadata.labels.clone().unwrap_or_default(),
            annotations: node.metadata.annotations.clone().unwrap_or_default(),
            taints: spec.and_then(|spec| spec.taints.clone()).unwrap_or_default(),
            unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
            allocatable: status
                .and_then(|status| status.allocatable.as_ref())
                .map(Amounts::of_list)
                .unwrap_or_default(),
            images,
            features: status
                .and_then(|status| status.declared_features.as_ref())
                .map(|features| features.iter().cloned().collect())
                .unwrap_or_default(),
        }
    }
}

impl Node {
    pub fn new(slot: usize, facts: NodeFacts) -> Self {
        Self { slot, facts: Arc::new(facts), ..Self::default() }
    }

    pub fn add(&mut self, pod: Arc<PodView>) {
        self.requested.add(&pod.requests);
        self.counted.add(&pod.counted);
        for port in &pod.ports {
            *self.ports.entry(port.clone()).or_default() += 1;
        }
        self.pods.push(pod);
    }

    pub fn remove(&mut self, uid: &str) -> Option<Arc<PodView>> {
        let at = self.pods.iter().position(|pod| pod.uid == uid)?;
        let pod = self.pods.swap_remove(at);
        self.requested.subtract(&pod.requests);
        self.counted.subtract(&pod.counted);
        for port in &pod.ports {
            if let Some(users) = self.ports.get_mut(port) {
                *users -= 1;
                if *users == 0 {
                    self.ports.remove(port);
                }
            }
        }
        Some(pod)
    }
}
