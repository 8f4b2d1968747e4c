//! What a container finds at which path: the pod's volumes, its hosts file, and a place for its last words.

mod hosts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use kedge_mounts::Sub;
use kedge_runtime::wire::{Mount, MountPropagation};

use super::Work;
use crate::spec::env::Place;
use crate::spec::expand::expand;
use crate::volumes::{Images, Layered, Places};

const LAST_WORDS: &str = "/dev/termination-log";
const HOSTS: &str = "/etc/hosts";

/// People read these in the container's status. They say nothing about the node's own folders.
#[derive(Debug, thiserror::Error)]
pub(super) enum MountsError {
    #[error("cannot find volume {volume:?} to mount into container {container:?}")]
    Unknown { volume: String, container: String },
    #[error("missing value for {0}")]
    NoValue(String),
    #[error("error SubPath `{0}` must not be an absolute path")]
    Absolute(String),
    #[error("unable to provision SubPath `{0}`: must not contain '..'")]
    Upwards(String),
    #[error("failed to prepare subPath for volumeMount {mount:?} of container {container:?}")]
    Part { mount: String, container: String },
    #[error(
        "failed to resolve recursive read-only mode: volume {0:?} requested recursive read-only mode, but {1}"
    )]
    NotReadOnly(String, String),
    #[error("cannot make volume {0:?} read-only for container {1:?}")]
    ReadOnly(String, String),
    #[error("cannot prepare {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// What was made of a pod's volumes.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) volumes: &'a Places,
    pub(super) images: &'a Images,
}

pub(super) fn of(
    work: &Work,
    container: &Container,
    attempt: u32,
    made: Made<'_>,
    environment: &BTreeMap<String, String>,
    place: &Place,
) -> Result<Vec<Mount>, MountsError> {
    let mut mounts = Vec::new();
    for (index, wanted) in container.volume_mounts.iter().flatten().enumerate() {
        let unknown =
            || MountsError::Unknown { volume: wanted.name.clone(), container: container.name.clone() };
        let (volume, read_only_by_runtime) = match made.images.get(&wanted.name) {
            Some(Layered::Runtime(image)) => {
                mounts.push(Mount {
                    container_path: absolute(&wanted.mount_path),
                    image: Some(image.clone()),
                    image_sub_path: sub_path(wanted, environment)?.unwrap_or_default(),
                    readonly: true,
                    propagation: propagation(wanted).into(),
                    ..Mount::default()
                });
                continue;
            }
            // Nothing can write there anyway, and a runtime that says so once more forgets that nothing may be run there.
            Some(Layered::Node(path)) => (path, false),
            None => {
                let volume = made.volumes.get(&wanted.name).ok_or_else(unknown)?;
                (&volume.path, wanted.read_only == Some(true) || volume.read_only)
            }
        };
        let path = match sub_path(wanted, environment)? {
            None => volume.clone(),
            Some(path) => part(work, container, index, wanted, volume, &path)?,
        };
        let path = match is_recursively_read_only(wanted)? {
            false => path,
            true => read_only(work, container, index, wanted, &path)?,
        };
        mounts.push(Mount {
            container_path: absolute(&wanted.mount_path),
            host_path: path.display().to_string(),
            readonly: read_only_by_runtime,
            propagation: propagation(wanted).into(),
            ..Mount::default()
        });
    }
    let has = |path: &str, mounts: &[Mount]| mounts.iter().any(|mount| mount.container_path == path);
    if !has(HOSTS, &mounts) {
        let path = work.tools.folders.hosts(work.uid());
        let nodes = fs::read_to_string(HOSTS).unwrap_or_default();
        let text = hosts::text(&work.pod, &place.pod_ips, &nodes, &work.tools.common);
        file(&path, text.as_bytes(), 0o644)?;
        mounts.push(Mount {
            container_path: HOSTS.to_owned(),
            host_path: path.display().to_string(),
            ..Mount::default()
        });
    }
    let at = container.termination_message_path.as_deref().filter(|path| !path.is_empty());
    let at = at.unwrap_or(LAST_WORDS);
    if !has(at, &mounts) {
        let words = work.tools.folders.last_words(work.uid(), &container.name, attempt);
        file(&words, b"", 0o666)?;
        mounts.push(Mount {
            container_path: at.to_owned(),
            host_path: words.display().to_string(),
            ..Mount::default()
        });
    }
    Ok(mounts)
}

/// Containers have no folder that a path could start from.
fn absolute(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{path}") }
}

/// The place below the volume that is wanted, if it isn't the whole of it.
fn sub_path(
    wanted: &VolumeMount,
    environment: &BTreeMap<String, String>,
) -> Result<Option<String>, MountsError> {
    let path = match wanted.sub_path_expr.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => expanded(text, environment)?,
        None => wanted.sub_path.clone().unwrap_or_default(),
    };
    if path.is_empty() {
        return Ok(None);
    }
    if path.starts_with('/') {
        return Err(MountsError::Absolute(path));
    }
    if Path::new(&path).components().any(|part| part == Component::ParentDir) {
        return Err(MountsError::Upwards(path));
    }
    Ok(Some(path))
}

/// A place must not become another one because something is missing in its name.
fn expanded(text: &str, environment: &BTreeMap<String, String>) -> Result<String, MountsError> {
    let missing = std::cell::RefCell::new(BTreeSet::new());
    let known = |name: &str| {
        let value = environment.get(name).filter(|value| !value.is_empty()).cloned();
        if value.is_none() {
            missing.borrow_mut().insert(name.to_owned());
        }
        value
    };
    let path = expand(text, known);
    let missing: Vec<_> = missing.into_inner().into_iter().collect();
    if missing.is_empty() { Ok(path) } else { Err(MountsError::NoValue(missing.join(", "))) }
}

fn part(
    work: &Work,
    container: &Container,
    index: usize,
    wanted: &VolumeMount,
    volume: &Path,
    path: &str,
) -> Result<PathBuf, MountsError> {
    let sub = Sub { volume: &wanted.name, container: &container.name, index, path };
    work.tools.mounts.part(work.uid(), volume, sub).map_err(|error| {
        tracing::warn!(%error, container = container.name, mount = wanted.name, "cannot prepare a subPath");
        MountsError::Part { mount: wanted.name.clone(), container: container.name.clone() }
    })
}

fn read_only(
    work: &Work,
    container: &Container,
    index: usize,
    wanted: &VolumeMount,
    path: &Path,
) -> Result<PathBuf, MountsError> {
    work.tools.mounts.read_only(work.uid(), path, &container.name, index).map_err(|error| {
        tracing::warn!(%error, container = container.name, mount = wanted.name, "cannot make it read-only");
        MountsError::ReadOnly(wanted.name.clone(), container.name.clone())
    })
}

/// Done on the node, so every runtime can do it.
fn is_recursively_read_only(wanted: &VolumeMount) -> Result<bool, MountsError> {
    if !matches!(wanted.recursive_read_only.as_deref(), Some("Enabled" | "IfPossible")) {
        return Ok(false);
    }
    let refused = |why: String| Err(MountsError::NotReadOnly(wanted.name.clone(), why));
    if wanted.read_only != Some(true) {
        return refused("it is not read-only".to_owned());
    }
    match wanted.mount_propagation.as_deref().filter(|mode| *mode != "None") {
        Some(mode) => refused(format!("it is not compatible with propagation {mode:?}")),
        None => Ok(true),
    }
}

fn propagation(wanted: &VolumeMount) -> MountPropagation {
    match wanted.mount_propagation.as_deref() {
        Some("HostToContainer") => MountPropagation::HostToContainer,
        Some("Bidirectional") => MountPropagation::Bidirectional,
        _ => MountPropagation::Private,
    }
}

fn file(path: &Path, content: &[u8], mode: u32) -> Result<(), MountsError> {
    let failed = |source| MountsError::Io { path: path.to_owned(), source };
    if let Some(above) = path.parent() {
        fs::create_dir_all(above).map_err(failed)?;
    }
    // Containers hold the file itself, so it is written over and not replaced.
    fs::write(path, content).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)
}

#[cfg(test)]
mod tests;
