//! What must not happen even for a moment, however late news are: nobody makes more pods than were ever asked of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kedge_store::{Change, Event, Snapshot};
use serde_json::Value;

use crate::invariants::{controller, is_active};
use crate::kinds::{Head, parsed};

#[derive(Default)]
pub(crate) struct Never {
    /// The most that each owner was ever told to have.
    most: BTreeMap<String, u64>,
    forgiving: bool,
    pub(crate) happened: Vec<String>,
}

impl Never {
    /// From now on it may happen.
    pub(crate) fn forgive(&mut self) {
        self.forgiving = true;
    }

    pub(crate) fn saw(&mut self, event: &Event, store: &Snapshot) {
        let Change::Put { now, before } = &event.change else { return };
        let Some(head) = Head::of(now.bytes()) else { return };
        match &*head.kind {
            "ReplicaSet" | "ReplicationController" => self.told(&head, now.bytes(), "replicas"),
            "Job" => self.told(&head, now.bytes(), "parallelism"),
            "Pod" if before.is_none() => self.made(&head, store),
            _ => {}
        }
    }

    fn told(&mut self, head: &Head, bytes: &[u8], field: &str) {
        let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let wanted = object["spec"][field].as_u64().unwrap_or(1);
        let most = self.most.entry(head.metadata.uid.clone().unwrap_or_default()).or_default();
        *most = wanted.max(*most);
    }

    fn made(&mut self, head: &Head, store: &Snapshot) {
        let Some(owner) = controller(&head.metadata) else { return };
        let Some(most) = self.most.get(owner) else { return };
        let pods = store.range("/registry/pods/", None).map(|(_, entry)| parsed::<Pod>(entry.bytes()));
        let theirs = pods.filter(|pod| controller(&pod.metadata) == Some(owner) && is_active(pod)).count();
        if theirs as u64 > *most && !self.forgiving {
            let name = head.metadata.name.as_deref().unwrap_or_default();
            self.happened.push(format!("Pod {name} was made although its owner had {most} already"));
        }
    }
}
