//! The images that a container mounts as volumes: fetched like its own, then laid out to be read.

use k8s_openapi::api::core::v1::Container;
use kedge_engine::Severity;

use super::{Failure, Work, image};
use crate::volumes::Images;

/// Fetched anew, where the policy says so, for every start of every container. All that fail are told of; the last one is why
/// the container waits.
pub(super) async fn ensure(work: &Work, container: &Container) -> Result<Images, Failure> {
    let mut images = Images::new();
    let mut failed = None;
    let volumes = work.pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    for volume in volumes {
        let Some(source) = &volume.image else { continue };
        if !container.volume_mounts.iter().flatten().any(|mount| mount.name == volume.name) {
            continue;
        }
        let reference = source.reference.as_deref().unwrap_or_default();
        let made = async {
            let found = image::obtain(work, "", reference, source.pull_policy.as_deref()).await;
            let found = found.map_err(|failure| (failure.reason.to_owned(), failure))?;
            let made = work.volumes.image(work.uid(), &volume.name, reference, &found.id, &found.names).await;
            made.map_err(|cause| {
                let message = format!("failed to mount image volume {:?}: {cause}", volume.name);
                (message.clone(), Failure::of("CreateContainerError", message))
            })
        };
        match made.await {
            Ok(layered) => drop(images.insert(volume.name.clone(), layered)),
            Err((told, failure)) => {
                work.tell(&container.name, Severity::Warning, "Failed", format!("Error: {told}"));
                failed = Some(failure);
            }
        }
    }
    failed.map_or(Ok(images), Err)
}
