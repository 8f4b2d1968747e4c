//! What was last known of the objects that a pod refers to. When the API cannot be asked, a container that comes back comes
//! back with that; a pod of which nothing was ever known has to wait.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;

use crate::sources::Sources;
use crate::tools::Tools;

#[derive(Default)]
pub(crate) struct Seen {
    sources: Mutex<Option<Arc<Sources>>>,
}

impl Seen {
    pub(super) async fn sources(&self, tools: &Tools, pod: &Pod) -> Result<Arc<Sources>, kube::Error> {
        match Sources::of(pod, &tools.client, &tools.world, tools.allocatable.clone()).await {
            Ok(sources) => {
                let sources = Arc::new(sources);
                *self.sources.lock() = Some(sources.clone());
                Ok(sources)
            }
            Err(error) => {
                let seen = self.sources.lock().clone();
                seen.ok_or(error)
            }
        }
    }
}
