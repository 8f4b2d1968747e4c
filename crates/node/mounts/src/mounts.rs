//! The volumes of all pods of a node. Everything can be done twice: what is there already stays.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};

use crate::volume::{Medium, Volume};
use crate::{host, tree};

#[derive(Debug, thiserror::Error)]
pub enum MountError {
    #[error("cannot {what} {}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("hostPath type check failed: {} is not {wanted}", path.display())]
    WrongKind { path: PathBuf, wanted: &'static str },
    #[error("{path:?} leads out of the volume")]
    Outside { path: String },
}

impl MountError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

#[derive(Clone, Debug)]
pub struct Mounts {
    root: PathBuf,
}

impl Mounts {
    /// Below `root` is one folder for each pod. What is mounted there can be seen by containers, also later, so the folder
    /// becomes a mount of its own that shares what happens in it.
    pub fn open(root: &Path) -> Result<Self, MountError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(root)
            .map_err(MountError::io("make", root))?;
        let root = fs::canonicalize(root).map_err(MountError::io("find", root))?;
        if !is_mounted(&root)? {
            mount_bind(&root, &root).map_err(|error| MountError::io("mount", &root)(error.into()))?;
        }
        let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
        mount_change(&root, shared).map_err(|error| MountError::io("share", &root)(error.into()))?;
        Ok(Self { root })
    }

    /// Makes a volume of a pod and answers where it is on the node.
    pub fn prepare(&self, pod: &str, name: &str, volume: &Volume) -> Result<PathBuf, MountError> {
        match volume {
            Volume::Host { path, kind } => host::prepare(path, *kind),
            Volume::Empty { medium } => {
                let place = self.place(pod, "empty-dir", name)?;
                folder(&place, 0o777)?;
                if let Medium::Memory { limit } = medium
                    && !is_mounted(&place)?
                {
                    let options = limit.map(|limit| format!("size={limit}")).unwrap_or_default();
                    let options = std::ffi::CString::new(options).unwrap_or_default();
                    mount("tmpfs", &place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, &*options)
                        .map_err(|error| MountError::io("mount", &place)(error.into()))?;
                    folder(&place, 0o777)?;
                }
                Ok(place)
            }
            Volume::Files { files } => {
                let place = self.place(pod, "files", name)?;
                folder(&place, 0o755)?;
                tree::write(&place, files)?;
                Ok(place)
            }
        }
    }

    /// Takes away everything that a pod has here.
    pub fn release(&self, pod: &str) -> Result<(), MountError> {
        let folder = self.root.join(part(pod)?);
        for mounted in mounts_below(&folder)? {
            unmount(&mounted, UnmountFlags::DETACH)
                .map_err(|error| MountError::io("unmount", &mounted)(error.into()))?;
        }
        let volumes = folder.join("volumes");
        match fs::remove_dir_all(&volumes) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(MountError::io("remove", &volumes)(error))
            }
            _ => Ok(()),
        }
    }

    fn place(&self, pod: &str, kind: &str, name: &str) -> Result<PathBuf, MountError> {
        Ok(self.root.join(part(pod)?).join("volumes").join(kind).join(part(name)?))
    }
}

/// A name that stays where it is put.
fn part(name: &str) -> Result<&str, MountError> {
    let fine = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
    if fine { Ok(name) } else { Err(MountError::Outside { path: name.to_owned() }) }
}

fn folder(path: &Path, mode: u32) -> Result<(), MountError> {
    fs::create_dir_all(path).map_err(MountError::io("make", path))?;
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(MountError::io("open up", path))
}

fn is_mounted(path: &Path) -> Result<bool, MountError> {
    Ok(mount_points()?.iter().any(|point| point == path))
}

/// The deepest first.
fn mounts_below(folder: &Path) -> Result<Vec<PathBuf>, MountError> {
    let mut points = mount_points()?;
    points.retain(|point| point.starts_with(folder));
    points.reverse();
    Ok(points)
}

/// In the order in which they were mounted.
fn mount_points() -> Result<Vec<PathBuf>, MountError> {
    let table = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(table).map_err(MountError::io("read", table))?;
    Ok(text.lines().filter_map(|line| Some(unescaped(line.split(' ').nth(4)?))).collect())
}

/// The kernel writes blanks and the like as `\040`.
fn unescaped(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let number = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests;
