//! The volumes of all pods of a node. Everything can be done twice: what is there already stays. Everything can be broken off: what
//! is half done is done again, and taking away takes away halves as well.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};

use crate::group::{self, mode_for_group};
use crate::volume::{Group, Medium, Sub, Volume};
use crate::{host, layers, nfs, readonly, sub, table, tree};

#[derive(Debug, thiserror::Error)]
pub enum MountError {
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("hostPath type check failed: {} is not {wanted}", path.display())]
    WrongKind { path: PathBuf, wanted: &'static str },
    #[error("path \"{}\" does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("{path:?} leads out of the volume")]
    Outside { path: String },
    #[error("mount failed: {output}\nMounting arguments: {arguments}")]
    Command { arguments: String, output: String },
}

impl MountError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

/// Folders of a pod, beside those that others keep in the same place.
const VOLUMES: &str = "volumes";
const PARTS: &str = "subpaths";
const READ_ONLY: &str = "readonly";
/// The kind of volume that is made of layers.
const LAYERED: &str = "image";
/// A folder is made under this name first, so that under its own it is complete.
const UNFINISHED: &str = ".unfinished";
/// What a folder for everybody is like: in memory as the kernel makes it, on disk without the bit that keeps others' files.
const IN_MEMORY: u32 = 0o1777;
const ON_DISK: u32 = 0o777;

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
        let failed = |what| move |root: &Path, error: Errno| MountError::io(what, root)(error.into());
        if !table::is_mounted(&root)? {
            mount_bind(&root, &root).map_err(|error| failed("mount")(&root, error))?;
            // Apart from the mount that it lies in, or everything would be mounted there once more.
            mount_change(&root, MountPropagationFlags::PRIVATE)
                .map_err(|error| failed("part")(&root, error))?;
        }
        let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
        mount_change(&root, shared).map_err(|error| failed("share")(&root, error))?;
        Ok(Self { root })
    }

    /// Makes a volume of a pod and answers where it is on the node.
    pub fn prepare(
        &self,
        pod: &str,
        name: &str,
        volume: &Volume,
        group: Option<Group>,
    ) -> Result<PathBuf, MountError> {
        self.prepare_unless(&AtomicBool::new(false), pod, name, volume, group)
    }

    /// The same, except that waiting for another machine ends once nobody wants the volume any more.
    pub fn prepare_unless(
        &self,
        given_up: &AtomicBool,
        pod: &str,
        name: &str,
        volume: &Volume,
        group: Option<Group>,
    ) -> Result<PathBuf, MountError> {
        match volume {
            Volume::Host { path, kind } => host::prepare(path, *kind),
            Volume::Local { path, make } => {
                let place = host::local(path, *make)?;
                if let Some(group) = group {
                    group::give(&place, group, false)?;
                }
                Ok(place)
            }
            Volume::Empty { medium: Medium::Disk } => {
                let place = self.place(pod, "empty-dir", name)?;
                if !place.is_dir() {
                    let mode = group.map_or(ON_DISK, |_| mode_for_group(ON_DISK, true, false));
                    finished(&place, mode, group)?;
                }
                Ok(place)
            }
            Volume::Empty { medium: Medium::Memory { limit } } => {
                let place = self.place(pod, "empty-dir", name)?;
                in_memory(&place, *limit, group)?;
                Ok(place)
            }
            Volume::Files(files) => {
                let place = self.place(pod, "files", name)?;
                match files.in_memory {
                    true => in_memory(&place, None, None)?,
                    false if place.is_dir() => {}
                    false => finished(&place, ON_DISK, None)?,
                }
                tree::write(&place, files, group.map(|group| group.id))?;
                Ok(place)
            }
            Volume::Nfs(nfs) => {
                let place = self.place(pod, "nfs", name)?;
                if !table::is_mounted(&place)? {
                    fs::create_dir_all(&place).map_err(MountError::io("make", &place))?;
                    nfs::mount(nfs, &place, given_up)?;
                }
                Ok(place)
            }
            Volume::Layers(layers) => {
                let place = self.place(pod, LAYERED, name)?;
                layers::mount(layers, &place)?;
                Ok(place)
            }
        }
    }

    /// Makes the place of a volume of layers, so that it is known before there is anything in it.
    pub fn announce(&self, pod: &str, name: &str) -> Result<(), MountError> {
        let place = self.place(pod, LAYERED, name)?;
        fs::create_dir_all(&place).map_err(MountError::io("make", &place))
    }

    /// Takes a pod's volumes of layers away; their empty places stay until all of the pod's volumes are released. Answers
    /// what they are called.
    pub fn close_layers(&self, pod: &str) -> Result<Vec<String>, MountError> {
        let folder = self.root.join(part(pod)?).join(VOLUMES).join(LAYERED);
        let names = names_in(&folder)?;
        if !names.is_empty() {
            table::clear(&folder)?;
        }
        Ok(names)
    }

    /// What the volumes of layers of all pods are called.
    pub fn layered(&self) -> Result<Vec<String>, MountError> {
        let mut all = Vec::new();
        for pod in names_in(&self.root)? {
            all.extend(names_in(&self.root.join(pod).join(VOLUMES).join(LAYERED))?);
        }
        Ok(all)
    }

    /// A part of a volume for one mount of a container, which stays the same whatever becomes of the name.
    pub fn part(&self, pod: &str, volume: &Path, sub: Sub<'_>) -> Result<PathBuf, MountError> {
        let folder = self.root.join(part(pod)?).join(PARTS);
        let target = folder.join(part(sub.volume)?).join(part(sub.container)?).join(sub.index.to_string());
        sub::mount(volume, sub.path, &target)?;
        Ok(target)
    }

    /// The same place with everything below it, for reading only.
    pub fn read_only(
        &self,
        pod: &str,
        source: &Path,
        container: &str,
        index: usize,
    ) -> Result<PathBuf, MountError> {
        let folder = self.root.join(part(pod)?).join(READ_ONLY);
        let target = folder.join(part(container)?).join(index.to_string());
        readonly::mount(source, &target)?;
        Ok(target)
    }

    /// Takes away everything that a pod has here, whoever made it.
    pub fn release(&self, pod: &str) -> Result<(), MountError> {
        let folder = self.root.join(part(pod)?);
        table::clear(&folder)?;
        // Here others' folders were mounted: only what is empty goes.
        for (inside, depth) in [(PARTS, 2), (READ_ONLY, 1), ("volumes/nfs", 0)] {
            let inside = folder.join(inside);
            prune(&inside, depth).map_err(MountError::io("remove", &inside))?;
        }
        let volumes = folder.join(VOLUMES);
        absent_is_fine(fs::remove_dir_all(&volumes)).map_err(MountError::io("remove", &volumes))
    }

    fn place(&self, pod: &str, kind: &str, name: &str) -> Result<PathBuf, MountError> {
        Ok(self.root.join(part(pod)?).join(VOLUMES).join(kind).join(part(name)?))
    }
}

/// The folders in a folder. None where there is no such folder.
fn names_in(folder: &Path) -> Result<Vec<String>, MountError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(MountError::io("read", folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(MountError::io("read", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != layers::NOTHING && entry.path().is_dir() {
            names.push(name);
        }
    }
    Ok(names)
}

/// A name that stays where it is put.
fn part(name: &str) -> Result<&str, MountError> {
    let fine = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
    if fine { Ok(name) } else { Err(MountError::Outside { path: name.to_owned() }) }
}

/// Makes a folder with this mode, whatever the process' own mask is.
pub(crate) fn new_folder(path: &Path, mode: u32) -> Result<(), MountError> {
    fs::create_dir_all(path).map_err(MountError::io("make", path))?;
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(MountError::io("open up", path))
}

/// Makes a folder that is never seen without its mode and its group.
fn finished(place: &Path, mode: u32, group: Option<Group>) -> Result<(), MountError> {
    let mut unfinished = place.as_os_str().to_owned();
    unfinished.push(UNFINISHED);
    let unfinished = PathBuf::from(unfinished);
    new_folder(&unfinished, mode)?;
    if let Some(group) = group {
        group::give(&unfinished, group, false)?;
    }
    fs::rename(&unfinished, place).map_err(MountError::io("finish", place))
}

/// Whether the kernel can be told to keep a folder in memory off the disk.
static MAY_SWAP: AtomicBool = AtomicBool::new(false);

fn in_memory(place: &Path, limit: Option<u64>, group: Option<Group>) -> Result<(), MountError> {
    if table::is_mounted(place)? {
        return Ok(());
    }
    fs::create_dir_all(place).map_err(MountError::io("make", place))?;
    let mode = group.map_or(IN_MEMORY, |_| mode_for_group(IN_MEMORY, true, false));
    let mut options = format!("mode={mode:o}");
    if let Some(limit) = limit {
        options.push_str(&format!(",size={limit}"));
    }
    if let Some(group) = group {
        options.push_str(&format!(",gid={}", group.id));
    }
    let failed = |error: Errno| MountError::io("mount", place)(error.into());
    if !MAY_SWAP.load(Ordering::Relaxed) {
        match tmpfs(place, &format!("{options},noswap")) {
            // Linux before 6.4 does not know the word.
            Err(Errno::INVAL) => MAY_SWAP.store(true, Ordering::Relaxed),
            outcome => return outcome.map_err(failed),
        }
    }
    tmpfs(place, &options).map_err(failed)
}

fn tmpfs(place: &Path, options: &str) -> Result<(), Errno> {
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    mount("tmpfs", place, "tmpfs", MountFlags::empty(), &*options)
}

/// Removes a folder whose folders down to `depth` hold nothing but places where something was mounted.
fn prune(folder: &Path, depth: usize) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true if depth > 0 => prune(&entry.path(), depth - 1)?,
            true => absent_is_fine(fs::remove_dir(entry.path()))?,
            false => absent_is_fine(fs::remove_file(entry.path()))?,
        }
    }
    absent_is_fine(fs::remove_dir(folder))
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests;
