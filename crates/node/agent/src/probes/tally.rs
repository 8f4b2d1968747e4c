//! How often each probe of each pod that is here had which result. Knows nothing of what becomes of it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;

use super::Kind;

/// One result of one probe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Counted {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) uid: String,
    pub(crate) container: String,
    pub(crate) kind: Kind,
    pub(crate) result: &'static str,
}

#[derive(Default)]
pub(crate) struct Tally(Mutex<BTreeMap<Counted, u64>>);

impl Tally {
    pub(crate) fn note(&self, pod: &Pod, container: &str, kind: Kind, result: &'static str) {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let meta = &pod.metadata;
        let (namespace, name, uid) = (part(&meta.namespace), part(&meta.name), part(&meta.uid));
        let counted = Counted { namespace, pod: name, uid, container: container.to_owned(), kind, result };
        *self.0.lock().entry(counted).or_default() += 1;
    }

    /// A pod is gone, and its counts with it.
    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().retain(|counted, _| counted.uid != uid);
    }

    pub(crate) fn all(&self) -> Vec<(Counted, u64)> {
        self.0.lock().iter().map(|(counted, count)| (counted.clone(), *count)).collect()
    }
}
