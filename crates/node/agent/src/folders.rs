//! Where a node keeps what belongs to its pods. Names only; makes nothing.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;

#[derive(Clone, Debug)]
pub(crate) struct Folders {
    pods: PathBuf,
    logs: PathBuf,
}

impl Folders {
    /// Below the data folder.
    pub(crate) fn below(data: &Path) -> Self {
        Self { pods: data.join("pods"), logs: data.join("logs/pods") }
    }

    pub(crate) fn pods(&self) -> &Path {
        &self.pods
    }

    pub(crate) fn pod(&self, uid: &str) -> PathBuf {
        self.pods.join(uid)
    }

    /// What stands at `/etc/hosts` in the pod's containers.
    pub(crate) fn hosts(&self, uid: &str) -> PathBuf {
        self.pod(uid).join("etc-hosts")
    }

    /// Where a container leaves its last words.
    pub(crate) fn last_words(&self, uid: &str, container: &str, attempt: u32) -> PathBuf {
        self.pod(uid).join("containers").join(container).join(attempt.to_string())
    }

    /// The folder of a pod's logs; the runtime puts those of each container below it.
    pub(crate) fn logs(&self, pod: &Pod) -> PathBuf {
        let meta = &pod.metadata;
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        self.logs.join(format!("{}_{}_{}", part(&meta.namespace), part(&meta.name), part(&meta.uid)))
    }
}
