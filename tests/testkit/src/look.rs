//! What a test sees of a cluster: the objects as they are now, asked for by kind. What has not been read yet is never taken for
//! absent: a look that met it does not count.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use kedge_client::world::Watched;
use kedge_client::{Key, World};
use kedge_clock::Clock;
use kube::ResourceExt;

pub struct Look {
    world: World,
    clock: Clock,
    missing: Cell<bool>,
}

impl Look {
    pub(crate) fn new(world: World, clock: Clock) -> Self {
        // What is shown to those who wait in vain has to be watched from the beginning.
        world.watch::<Pod>().watch::<Node>().watch::<Event>();
        world.watch::<Deployment>().watch::<ReplicaSet>().watch::<StatefulSet>().watch::<DaemonSet>();
        world.watch::<Job>();
        Self { world, clock, missing: Cell::new(false) }
    }

    pub(crate) fn agrees(&self, holds: &impl Fn(&Self) -> bool) -> bool {
        self.missing.set(false);
        holds(self) && !self.missing.get()
    }

    pub fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// All objects of a kind.
    pub fn all<K: Watched>(&self) -> Vec<Arc<K>> {
        self.world.watch::<K>();
        self.world.cache::<K>().map(|cache| cache.all()).unwrap_or_else(|_| {
            self.missing.set(true);
            Vec::new()
        })
    }

    /// An object of namespace `default`, or of none.
    pub fn get<K: Watched>(&self, name: &str) -> Option<Arc<K>> {
        self.all::<K>().into_iter().find(|object| {
            object.name_any() == name && matches!(object.namespace().as_deref(), None | Some("default"))
        })
    }

    /// Pods with this value of the label `app`.
    pub fn pods(&self, app: &str) -> Pods {
        let pods = self.all::<Pod>();
        Pods(
            pods.into_iter()
                .filter(|pod| pod.labels().get("app").is_some_and(|value| value == app))
                .collect(),
        )
    }

    pub fn has_event(&self, reason: &str, part: &str) -> bool {
        self.all::<Event>().iter().any(|event| {
            event.reason.as_deref() == Some(reason)
                && event.message.as_deref().unwrap_or_default().contains(part)
        })
    }
}

#[derive(Clone, Debug)]
pub struct Pods(pub Vec<Arc<Pod>>);

impl Pods {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn that(self, matches: impl Fn(&Pod) -> bool) -> Self {
        Self(self.0.into_iter().filter(|pod| matches(pod)).collect())
    }

    #[must_use]
    pub fn in_phase(self, phase: &str) -> Self {
        self.that(|pod| is_in_phase(pod, phase))
    }

    /// Running, ready and not told to go.
    #[must_use]
    pub fn ready(self) -> Self {
        self.that(|pod| {
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            let ready = conditions.into_iter().any(|known| known.type_ == "Ready" && known.status == "True");
            ready && pod.metadata.deletion_timestamp.is_none()
        })
    }

    #[must_use]
    pub fn with_image(self, image: &str) -> Self {
        self.that(|pod| {
            let containers = pod.spec.iter().flat_map(|spec| spec.containers.iter());
            containers.into_iter().any(|container| container.image.as_deref() == Some(image))
        })
    }

    /// There are some, and they all are on that node, run and stay.
    pub fn all_on(&self, node: &str) -> bool {
        !self.is_empty()
            && self.0.iter().all(|pod| {
                pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(node)
                    && is_in_phase(pod, "Running")
                    && pod.metadata.deletion_timestamp.is_none()
            })
    }

    pub fn names(&self) -> BTreeSet<String> {
        self.0.iter().map(|pod| pod.name_any()).collect()
    }

    pub fn nodes(&self) -> BTreeSet<String> {
        self.0.iter().filter_map(|pod| pod.spec.as_ref()?.node_name.clone()).collect()
    }
}

fn is_in_phase(pod: &Pod, phase: &str) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some(phase)
}

/// What there is, for a test that waited in vain.
impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for pod in self.all::<Pod>() {
            let phase = pod.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
            let leaving = if pod.metadata.deletion_timestamp.is_some() { " leaving" } else { "" };
            writeln!(f, "Pod {} {phase}{leaving} on {node:?}", Key::of(&*pod))?;
        }
        for node in self.all::<Node>() {
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
            let taints: Vec<String> = taints.into_iter().map(|taint| taint.key).collect();
            writeln!(f, "Node {} {taints:?}", node.name_any())?;
        }
        self.statuses(f, |object: &Deployment| serde_json::to_string(&object.status))?;
        self.statuses(f, |object: &ReplicaSet| serde_json::to_string(&object.status))?;
        self.statuses(f, |object: &StatefulSet| serde_json::to_string(&object.status))?;
        self.statuses(f, |object: &DaemonSet| serde_json::to_string(&object.status))?;
        self.statuses(f, |object: &Job| serde_json::to_string(&object.status))?;
        for event in self.all::<Event>() {
            let message = event.message.as_deref().unwrap_or_default();
            writeln!(f, "Event {}: {message}", event.reason.as_deref().unwrap_or_default())?;
        }
        Ok(())
    }
}

impl Look {
    fn statuses<K: Watched>(
        &self,
        f: &mut fmt::Formatter<'_>,
        status: impl Fn(&K) -> serde_json::Result<String>,
    ) -> fmt::Result {
        for object in self.all::<K>() {
            writeln!(f, "{} {} {}", K::kind(&()), Key::of(&*object), status(&object).unwrap_or_default())?;
        }
        Ok(())
    }
}
