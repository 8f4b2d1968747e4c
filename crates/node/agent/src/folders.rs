//! Where a node keeps what belongs to its pods.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;

use crate::clean;
use crate::vault;

#[derive(Clone, Debug)]
pub(crate) struct Folders {
    data: PathBuf,
    pods: PathBuf,
    logs: PathBuf,
    volumes: PathBuf,
    vault: Option<PathBuf>,
}

impl Folders {
    /// Below the data folder.
    pub(crate) fn below(data: &Path) -> Self {
        // Others read where volumes are, and know nothing of the folder that we run in.
        let whole = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        Self {
            data: data.to_owned(),
            pods: data.join("pods"),
            logs: data.join("logs/pods"),
            volumes: whole.join("volumes"),
            vault: vault::place(data),
        }
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Those above the root folders of containers, as far as they are ours.
    pub(crate) fn above_containers(&self) -> [PathBuf; 2] {
        [self.data.clone(), clean::folder(&self.data)]
    }

    /// Where is kept what no disk may hold.
    pub(crate) fn vault(&self) -> Option<&Path> {
        self.vault.as_deref()
    }

    pub(crate) fn pods(&self) -> &Path {
        &self.pods
    }

    /// What is left of claims when their pods are gone.
    pub(crate) fn volumes(&self) -> &Path {
        &self.volumes
    }

    pub(crate) fn pod(&self, uid: &str) -> PathBuf {
        self.pods.join(uid)
    }

    /// Where the pod's volumes are.
    pub(crate) fn volumes_record(&self, uid: &str) -> PathBuf {
        self.pod(uid).join("volumes.json")
    }

    /// What stands at `/etc/hosts` in the pod's containers.
    pub(crate) fn hosts(&self, uid: &str) -> PathBuf {
        self.pod(uid).join("etc-hosts")
    }

    /// Where a container leaves its last words.
    pub(crate) fn last_words(&self, uid: &str, container: &str, attempt: u32) -> PathBuf {
        self.pod(uid).join("containers").join(container).join(attempt.to_string())
    }

    /// The folder of all logs.
    pub(crate) fn all_logs(&self) -> &Path {
        &self.logs
    }

    /// The folder of a pod's logs; the runtime puts those of each container below it.
    pub(crate) fn logs(&self, pod: &Pod) -> PathBuf {
        let meta = &pod.metadata;
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        self.logs.join(format!("{}_{}_{}", part(&meta.namespace), part(&meta.name), part(&meta.uid)))
    }

    /// Removes the log and the last words of one container of a pod.
    pub(crate) fn remove_attempt(&self, pod: &Pod, container: &str, attempt: u32) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let _removed = std::fs::remove_file(self.last_words(uid, container, attempt));
        let folder = self.logs(pod).join(container);
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        // What was put aside when it became too long has something behind the name.
        let mine = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{attempt}.log")));
        for entry in mine {
            let _removed = std::fs::remove_file(entry.path());
        }
    }

    /// The pods of which something is left.
    pub(crate) fn uids(&self) -> Vec<String> {
        let names = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let logs = names(&self.logs).into_iter().filter_map(|name| Some(name.rsplit_once('_')?.1.to_owned()));
        names(&self.pods).into_iter().chain(logs).collect()
    }

    /// Removes a pod's folders. What cannot be removed is tried again at the next start.
    pub(crate) fn remove(&self, uid: &str) {
        if let Some(vault) = &self.vault {
            vault::remove(vault, uid);
        }
        let logs = std::fs::read_dir(&self.logs).into_iter().flatten().flatten().map(|entry| entry.path());
        let mine = logs.filter(|path| path.to_string_lossy().ends_with(&format!("_{uid}")));
        for folder in mine.chain([self.pod(uid)]) {
            let _removed = std::fs::remove_dir_all(folder);
        }
    }
}
