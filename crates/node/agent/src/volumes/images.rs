//! Volumes that are images: laid out and mounted on this node by ourselves where the containerd is our own, else left to the
//! runtime. Each has a folder named after the volume and the image, which says that the image is in use.

use std::collections::HashMap;
use std::path::PathBuf;

use kedge_images::ViewError;
use kedge_mounts::{MountError, Volume};
use kedge_runtime::wire::ImageSpec;

use super::PodVolumes;
use super::cause::Cause;
use crate::tools::Tools;

/// By the name that the pod gives to a volume.
pub(crate) type Images = HashMap<String, Layered>;

/// Where the files of an image are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layered {
    Node(PathBuf),
    /// The runtime mounts it.
    Runtime(ImageSpec),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error(transparent)]
    View(#[from] ViewError),
}

impl PodVolumes {
    /// Lays out an image that is on this node. A container that is made again may find a newer one than others have.
    pub(crate) async fn image(
        &self,
        uid: &str,
        volume: &str,
        reference: &str,
        id: &str,
        names: &[String],
    ) -> Result<Layered, Cause> {
        let tools = &self.tools;
        let name = name(volume, id);
        let hand = self.hand.lock().await;
        tools.mounts.announce(uid, &name)?;
        let Some(store) = &tools.blobs else {
            drop(hand);
            return by_runtime(tools, reference, id).await;
        };
        let layers = store.view(&key(uid, &name), names, tools.now()).await?;
        drop(hand);
        self.prepare(uid, &name, Volume::Layers(layers), None).await.map(Layered::Node)
    }
}

/// Takes away everything that a pod has.
pub(crate) async fn release(tools: &Tools, uid: &str) -> Result<(), ReleaseError> {
    let (mounts, pod) = (tools.mounts.clone(), uid.to_owned());
    let Ok(closed) = tokio::task::spawn_blocking(move || mounts.close_layers(&pod)).await else {
        // The process is ending; the next one goes on with it.
        return Ok(());
    };
    let closed = closed?;
    if let Some(store) = &tools.blobs {
        for name in closed {
            store.give_back(&key(uid, &name)).await?;
        }
    }
    let (mounts, pod) = (tools.mounts.clone(), uid.to_owned());
    match tokio::task::spawn_blocking(move || mounts.release(&pod)).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) => Ok(()),
    }
}

/// An old containerd would not say that it cannot do it.
async fn by_runtime(tools: &Tools, reference: &str, id: &str) -> Result<Layered, Cause> {
    let told = tools.runtime.version().await?;
    if told.runtime_name == "containerd" && !knows_images(&told.runtime_version) {
        return Err(Cause::OldRuntime(format!("{} {}", told.runtime_name, told.runtime_version)));
    }
    let user_specified_image = reference.to_owned();
    Ok(Layered::Runtime(ImageSpec { user_specified_image, ..ImageSpec::named(id) }))
}

/// Whether a containerd of this version mounts images. One whose version says nothing is asked.
fn knows_images(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split(|letter: char| !letter.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    match (next(), next()) {
        (Some(major), minor) => (major, minor.unwrap_or(0)) >= (2, 1),
        (None, _) => true,
    }
}

/// The letters of an image's id, which may be told with what made them.
fn letters(id: &str) -> &str {
    id.rsplit(':').next().unwrap_or(id)
}

/// No volume's name has a dot.
fn name(volume: &str, id: &str) -> String {
    format!("{volume}.{}", letters(id))
}

/// Whether a folder says that this image is in use.
pub(crate) fn is_layers_of(name: &str, id: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, of)| of == letters(id))
}

fn key(uid: &str, name: &str) -> String {
    format!("kedge-{uid}-{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_runtimes_are_known() {
        for (version, knows) in [
            ("1.6.20~ds1", false),
            ("1.7.24", false),
            ("v2.0.5", false),
            ("v2.1.0", true),
            ("2.3.4-beta", true),
            ("3", true),
            ("unknown", true),
        ] {
            assert_eq!(knows_images(version), knows, "{version}");
        }
    }

    #[test]
    fn a_folder_says_which_image_is_in_use() {
        let folder = name("data", "sha256:abc");
        assert_eq!(folder, "data.abc");
        assert!(is_layers_of(&folder, "sha256:abc"));
        assert!(!is_layers_of(&folder, "sha256:ab"));
        assert!(!is_layers_of("abc", "sha256:abc"));
    }
}
