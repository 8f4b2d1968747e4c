//! What a container finds at which path: the pod's volumes, its hosts file, and a place for its last words.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use kedge_runtime::wire::{Mount, MountPropagation};

use super::Work;
use crate::spec::env::Place;
use crate::spec::expand::expand;
use crate::spec::sandbox;

const LAST_WORDS: &str = "/dev/termination-log";
const HOSTS: &str = "/etc/hosts";

#[derive(Debug, thiserror::Error)]
pub(super) enum MountsError {
    #[error("volume {0:?} is not listed by the pod")]
    Unknown(String),
    #[error("failed to prepare subPath for volumeMount {0:?}: {1:?} leads out of the volume")]
    Outside(String, String),
    #[error("cannot prepare {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

pub(super) fn of(
    work: &Work,
    container: &Container,
    attempt: u32,
    volumes: &HashMap<String, PathBuf>,
    environment: &BTreeMap<String, String>,
    place: &Place,
) -> Result<Vec<Mount>, MountsError> {
    let mut mounts = Vec::new();
    for wanted in container.volume_mounts.iter().flatten() {
        let base = volumes.get(&wanted.name).ok_or_else(|| MountsError::Unknown(wanted.name.clone()))?;
        mounts.push(Mount {
            container_path: wanted.mount_path.clone(),
            host_path: below(base, wanted, environment)?.display().to_string(),
            readonly: wanted.read_only == Some(true),
            propagation: propagation(wanted).into(),
            ..Mount::default()
        });
    }
    let has = |path: &str, mounts: &[Mount]| mounts.iter().any(|mount| mount.container_path == path);
    if !has(HOSTS, &mounts) {
        let path = hosts(work, place)?;
        mounts.push(Mount {
            container_path: HOSTS.to_owned(),
            host_path: path.display().to_string(),
            ..Mount::default()
        });
    }
    let words = work.tools.folders.last_words(work.uid(), &container.name, attempt);
    file(&words, b"", 0o666)?;
    mounts.push(Mount {
        container_path: container.termination_message_path.clone().unwrap_or_else(|| LAST_WORDS.to_owned()),
        host_path: words.display().to_string(),
        ..Mount::default()
    });
    Ok(mounts)
}

/// A place below the volume, made if it isn't there. A link that a container left must not lead out.
fn below(
    base: &Path,
    wanted: &VolumeMount,
    environment: &BTreeMap<String, String>,
) -> Result<PathBuf, MountsError> {
    let known = |name: &str| environment.get(name).cloned();
    let expanded = wanted.sub_path_expr.as_deref().map(|text| expand(text, known));
    let Some(sub) = expanded.or_else(|| wanted.sub_path.clone()).filter(|sub| !sub.is_empty()) else {
        return Ok(base.to_owned());
    };
    let outside = || MountsError::Outside(wanted.name.clone(), sub.clone());
    let parts = Path::new(&sub).components();
    if !parts
        .clone()
        .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir))
    {
        return Err(outside());
    }
    let place = base.join(&sub);
    let failed = |source| MountsError::Io { path: place.clone(), source };
    if fs::symlink_metadata(&place).is_err() {
        // What is above must be inside before anything is made in it.
        let mut above = place.as_path();
        while fs::symlink_metadata(above).is_err() {
            above = above.parent().ok_or_else(outside)?;
        }
        inside(base, above).map_err(failed)?.ok_or_else(outside)?;
        fs::create_dir_all(&place).map_err(failed)?;
    }
    inside(base, &place).map_err(failed)?.ok_or_else(outside)
}

/// Where a path really is, if that is in the volume.
fn inside(base: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let (base, real) = (fs::canonicalize(base)?, fs::canonicalize(path)?);
    Ok(real.starts_with(base).then_some(real))
}

fn propagation(wanted: &VolumeMount) -> MountPropagation {
    match wanted.mount_propagation.as_deref() {
        Some("HostToContainer") => MountPropagation::HostToContainer,
        Some("Bidirectional") => MountPropagation::Bidirectional,
        _ => MountPropagation::Private,
    }
}

/// The names that the pod knows without asking anybody.
fn hosts(work: &Work, place: &Place) -> Result<PathBuf, MountsError> {
    let spec = work.pod.spec.as_ref();
    let shares = spec.is_some_and(|spec| spec.host_network == Some(true));
    let mut text = match shares {
        true => fs::read_to_string(HOSTS).unwrap_or_default(),
        false => {
            let mut text =
                "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost \
                            ip6-loopback\nfe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\t\
                            ip6-allnodes\nfe00::2\tip6-allrouters\n"
                    .to_owned();
            let name = sandbox::hostname(&work.pod, &work.tools.common);
            let full = sandbox::full_name(&work.pod, &name, &work.tools.common);
            for ip in &place.pod_ips {
                match &full {
                    Some(full) if *full != name => text.push_str(&format!("{ip}\t{full}\t{name}\n")),
                    _ => text.push_str(&format!("{ip}\t{name}\n")),
                }
            }
            text
        }
    };
    let aliases: Vec<_> = spec.and_then(|spec| spec.host_aliases.as_ref()).into_iter().flatten().collect();
    if !aliases.is_empty() {
        text.push_str("\n# Entries added by HostAliases.\n");
        for alias in aliases {
            text.push_str(&format!(
                "{}\t{}\n",
                alias.ip,
                alias.hostnames.clone().unwrap_or_default().join("\t")
            ));
        }
    }
    let path = work.tools.folders.hosts(work.uid());
    file(&path, text.as_bytes(), 0o644)?;
    Ok(path)
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
