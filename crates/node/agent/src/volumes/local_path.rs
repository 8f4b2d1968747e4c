//! Volumes on this node's own disk that a controller made and that this node removes (`docs/decisions/0006-local-path.md`): says
//! where they lie, and takes away the folder of each that is deleted before it lets the object go.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::PersistentVolume;
use kedge_client::{Event, Events, Objects};
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use crate::tools::Tools;

const NAME: &str = "kedge.dev/local-path";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// On a volume: the node that holds it.
const NODE: &str = "kedge.dev/node";
/// On a node: where its volumes lie.
const FOLDER: &str = "kedge.dev/volumes";
/// Between two attempts at what failed.
const AGAIN: Duration = Duration::from_secs(10);

pub(super) fn is_ours(volume: &PersistentVolume) -> bool {
    volume.annotations().get(PROVISIONED_BY).is_some_and(|maker| maker == NAME)
}

/// What is to be done about a volume.
#[derive(Debug, PartialEq, Eq)]
enum Todo {
    Nothing,
    /// Its folder stays, for whoever deleted the volume.
    LetGo,
    /// Its folder goes first.
    Remove,
}

fn todo(volume: &PersistentVolume, node: &str, folder: &Path) -> Todo {
    let is_here = volume.annotations().get(NODE).is_some_and(|holder| holder == node);
    let is_leaving = volume.metadata.deletion_timestamp.is_some();
    let waits = volume.finalizers().iter().any(|finalizer| finalizer == NAME);
    let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
    if !(is_ours(volume) && is_here && is_leaving && waits) || phase == Some("Bound") {
        return Todo::Nothing;
    }
    let spec = volume.spec.as_ref();
    let removes = spec.and_then(|spec| spec.persistent_volume_reclaim_policy.as_deref()) == Some("Delete");
    let path = spec.and_then(|spec| spec.host_path.as_ref()).map(|source| Path::new(&source.path));
    // Whoever can write volumes must not be able to remove anything else.
    let is_inside = path == Some(&folder.join(volume.name_any())) && !volume.name_any().contains('/');
    if removes && is_inside { Todo::Remove } else { Todo::LetGo }
}

/// Lets go of the volumes of this node that are deleted.
pub(crate) struct LocalPaths {
    pub(crate) tools: Arc<Tools>,
}

impl LocalPaths {
    /// Until it is dropped.
    pub(crate) async fn keep(&self) {
        let folder = self.tools.folders.volumes().display().to_string();
        self.tools.board.write(|notes| drop(notes.annotations.insert(FOLDER.to_owned(), folder)));
        let volumes = Objects::<PersistentVolume>::all(&self.tools.client);
        loop {
            // Whatever failed, everything is looked at again.
            if let Err(error) = self.follow(volumes.events(ListParams::default())).await {
                tracing::warn!(%error, "cannot remove a volume");
                self.tools.clock.sleep(AGAIN).await;
            }
        }
    }

    async fn follow(&self, mut events: Events<PersistentVolume>) -> Result<(), LocalPathError> {
        while let Some(told) = events.next().await {
            match told {
                Ok(Event::All(volumes)) => {
                    for volume in &volumes {
                        self.serve(volume).await?;
                    }
                }
                Ok(Event::Put(volume)) => self.serve(&volume).await?,
                Ok(Event::Gone(_)) => {}
                Err(error) => {
                    tracing::debug!(%error, "cannot watch volumes");
                    self.tools.clock.sleep(AGAIN).await;
                }
            }
        }
        Ok(())
    }

    async fn serve(&self, volume: &PersistentVolume) -> Result<(), LocalPathError> {
        let folder = self.tools.folders.volumes();
        let name = volume.name_any();
        match todo(volume, &self.tools.place.node, folder) {
            Todo::Nothing => return Ok(()),
            Todo::LetGo => {}
            Todo::Remove => {
                let path = folder.join(&name);
                let removed = tokio::task::spawn_blocking(move || fs::remove_dir_all(path)).await;
                match removed {
                    Ok(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(LocalPathError::Remove(name, error));
                    }
                    _ => {}
                }
            }
        }
        let left: Vec<_> = volume.finalizers().iter().filter(|finalizer| *finalizer != NAME).collect();
        let patch = json!({"metadata": {"finalizers": left, "resourceVersion": volume.resource_version()}});
        let volumes = Objects::<PersistentVolume>::all(&self.tools.client);
        match volumes.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await {
            Ok(_) => Ok(()),
            // It is gone, or has changed: then it is seen again.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(LocalPathError::Free(name, Box::new(error))),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum LocalPathError {
    #[error("cannot remove the folder of {0}: {1}")]
    Remove(String, io::Error),
    #[error("cannot let go of {0}: {1}")]
    Free(String, Box<kube::Error>),
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_what_is_ours_and_free_is_removed() {
        let whole = json!({
            "metadata": {
                "name": "pvc-1", "deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": [NAME],
                "annotations": {PROVISIONED_BY: NAME, NODE: "here"},
            },
            "spec": {"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/data/volumes/pvc-1"}},
            "status": {"phase": "Released"},
        });
        for (case, change, value, done) in [
            ("as it is", "/spec/storageClassName", json!("local-path"), Todo::Remove),
            ("not deleted", "/metadata/deletionTimestamp", json!(null), Todo::Nothing),
            ("bound", "/status/phase", json!("Bound"), Todo::Nothing),
            ("let go already", "/metadata/finalizers", json!(["other"]), Todo::Nothing),
            (
                "another node's",
                "/metadata/annotations",
                json!({PROVISIONED_BY: NAME, NODE: "there"}),
                Todo::Nothing,
            ),
            ("somebody else's", "/metadata/annotations", json!({NODE: "here"}), Todo::Nothing),
            ("kept", "/spec/persistentVolumeReclaimPolicy", json!("Retain"), Todo::LetGo),
            ("elsewhere", "/spec/hostPath", json!({"path": "/etc"}), Todo::LetGo),
            ("upwards", "/spec/hostPath", json!({"path": "/data/volumes/../pvc-1"}), Todo::LetGo),
        ] {
            let mut volume: Value = whole.clone();
            let (above, name) = change.rsplit_once('/').unwrap();
            volume.pointer_mut(above).unwrap()[name] = value;
            let volume: PersistentVolume = serde_json::from_value(volume).unwrap();
            assert_eq!(todo(&volume, "here", Path::new("/data/volumes")), done, "{case}");
        }
    }
}
