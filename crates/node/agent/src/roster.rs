//! Every pod that has a life on this node, as it was last seen: for whoever looks at all of them at once. Decides nothing.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;

use crate::view::View;

#[derive(Default)]
pub(crate) struct Roster {
    inner: Mutex<HashMap<String, Seen>>,
}

#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) pod: Arc<Pod>,
    pub(crate) view: View,
}

impl Seen {
    /// Whether something of it runs or may run again.
    pub(crate) fn is_active(&self) -> bool {
        let phase = self.pod.status.as_ref().and_then(|status| status.phase.as_deref());
        !matches!(phase, Some("Succeeded" | "Failed")) || self.view.running().next().is_some()
    }
}

impl Roster {
    pub(crate) fn note(&self, pod: &Arc<Pod>, view: &View) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.inner.lock().insert(uid, Seen { pod: pod.clone(), view: view.clone() });
    }

    /// The same pod as it is said to be now.
    pub(crate) fn renew(&self, pod: &Arc<Pod>) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        if let Some(seen) = self.inner.lock().get_mut(uid) {
            seen.pod = pod.clone();
        }
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.inner.lock().remove(uid);
    }

    /// The newest one of a name.
    pub(crate) fn named(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        let inner = self.inner.lock();
        let pods = inner.values().map(|seen| &seen.pod).filter(|pod| {
            let meta = &pod.metadata;
            meta.name.as_deref() == Some(name) && meta.namespace.as_deref() == Some(namespace)
        });
        pods.max_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0)).cloned()
    }

    /// In the order of their names.
    pub(crate) fn all(&self) -> Vec<Seen> {
        let mut all: Vec<Seen> = self.inner.lock().values().cloned().collect();
        let key = |seen: &Seen| (seen.pod.metadata.namespace.clone(), seen.pod.metadata.name.clone());
        all.sort_by_cached_key(key);
        all
    }
}
