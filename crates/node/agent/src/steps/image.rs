//! The image of a container: there already, or fetched, as its policy says.

use std::time::Instant;

use k8s_openapi::api::core::v1::Container;
use kedge_engine::Severity;
use kedge_runtime::wire::Image;

use super::{Failure, Work};
use crate::spec::security::ImageUser;

/// An image that is on this node.
pub(crate) struct Present {
    pub(crate) id: String,
    pub(crate) user: ImageUser,
}

impl From<Image> for Present {
    fn from(image: Image) -> Self {
        let user = ImageUser { uid: image.uid.map(|uid| uid.value), name: image.username };
        Self { id: image.id, user }
    }
}

pub(crate) async fn ensure(work: &Work, container: &Container) -> Result<Present, Failure> {
    let image = container.image.as_deref().unwrap_or_default();
    let runtime = &work.tools.runtime;
    let failed = |reason: &'static str| move |error: kedge_runtime::RuntimeError| Failure::of(reason, error);
    let found = runtime.image_status(image).await.map_err(failed("ImageInspectError"))?;
    let usual = if image.contains('@') || tag(image).is_some_and(|tag| tag != "latest") {
        "IfNotPresent"
    } else {
        "Always"
    };
    match (container.image_pull_policy.as_deref().unwrap_or(usual), found) {
        ("Never" | "IfNotPresent", Some(found)) => {
            let message = format!("Container image {image:?} already present on machine");
            work.tell(&container.name, Severity::Normal, "Pulled", message).await;
            Ok(found.into())
        }
        ("Never", None) => {
            let message = format!("Container image {image:?} is not present with pull policy of Never");
            work.tell(&container.name, Severity::Warning, "ErrImageNeverPull", message.clone()).await;
            Err(Failure { reason: "ErrImageNeverPull", message })
        }
        _ => pull(work, &container.name, image).await,
    }
}

async fn pull(work: &Work, container: &str, image: &str) -> Result<Present, Failure> {
    let runtime = &work.tools.runtime;
    work.tell(container, Severity::Normal, "Pulling", format!("Pulling image {image:?}")).await;
    let begun = Instant::now();
    if let Err(error) = runtime.pull(image, None).await {
        let message = format!("Failed to pull image {image:?}: {error}");
        work.tell(container, Severity::Warning, "Failed", message).await;
        return Err(Failure::of("ErrImagePull", error));
    }
    let took = begun.elapsed();
    let found = runtime.image_status(image).await.map_err(|error| Failure::of("ImageInspectError", error))?;
    let Some(found) = found else {
        return Err(Failure::of("ErrImagePull", format!("{image} was pulled and is not there")));
    };
    let message = format!(
        "Successfully pulled image {image:?} in {took:.3?} ({took:.3?} including waiting). Image size: {} bytes.",
        found.size
    );
    work.tell(container, Severity::Normal, "Pulled", message).await;
    Ok(found.into())
}

fn tag(image: &str) -> Option<&str> {
    image.rsplit('/').next()?.split_once(':').map(|(_, tag)| tag)
}
