//! What was last known of the objects that a pod refers to. When the API cannot be asked, a container that comes back comes
//! back with that; a pod of which nothing was ever known has to wait.

use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;

use crate::sources::{Read, Sources};
use crate::tools::Tools;
use crate::vault;

#[derive(Default)]
pub(crate) struct Seen {
    sources: Mutex<Option<Arc<Sources>>>,
}

impl Seen {
    pub(super) async fn sources(&self, tools: &Tools, pod: &Pod) -> Result<Arc<Sources>, kube::Error> {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let vault = tools.folders.vault();
        match Sources::of(pod, &tools.client, &tools.world, tools.allocatable.clone()).await {
            Ok(sources) => {
                let sources = Arc::new(sources);
                *self.sources.lock() = Some(sources.clone());
                if let Some(vault) = vault.filter(|_| !sources.read().is_empty()) {
                    keep(vault, uid, &sources);
                }
                Ok(sources)
            }
            Err(error) => {
                let seen = self.sources.lock().clone();
                let kept = || {
                    let read = Read::from_json(&vault::get(vault?, uid)?).ok()?;
                    let allocatable = tools.allocatable.clone();
                    Some(Arc::new(Sources::from_read(read, &tools.world, allocatable)))
                };
                seen.or_else(kept).ok_or(error)
            }
        }
    }
}

/// For an agent that starts while nobody can be asked.
fn keep(vault: &Path, uid: &str, sources: &Sources) {
    if let Err(error) = vault::put(vault, uid, &sources.read().json()) {
        tracing::debug!(%error, uid, "cannot keep what a pod refers to");
    }
}
