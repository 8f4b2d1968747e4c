//! A part of a volume as a mount of its own. What containers leave in a volume, links above all, must not lead out of it: every
//! step is taken from an open folder, and what was found is mounted itself, not its name.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fchmod, fstat, mkdirat, open, openat, openat2, stat};
use rustix::io::Errno;
use rustix::mount::mount_bind;

use crate::group::door;
use crate::mounts::MountError;
use crate::table;

/// Mounts at `target` what is at `path` in the volume, a new folder if there is nothing. What is there already and the same stays.
pub(crate) fn mount(volume: &Path, path: &str, target: &Path) -> Result<(), MountError> {
    let names = names(path)?;
    let failed = |error: Errno| MountError::io("find", &volume.join(path))(error.into());
    let found = find(volume, &names).map_err(failed)?;
    let told = fstat(&found).map_err(failed)?;
    if table::is_mounted(target)? {
        let there = stat(target).map_err(|error| MountError::io("look at", target)(error.into()))?;
        if (there.st_dev, there.st_ino) == (told.st_dev, told.st_ino) {
            return Ok(());
        }
        table::clear(target)?;
    }
    let is_folder = FileType::from_raw_mode(told.st_mode) == FileType::Directory;
    make_target(target, is_folder).map_err(MountError::io("make", target))?;
    mount_bind(door(&found), target).map_err(|error| MountError::io("mount", target)(error.into()))
}

fn names(path: &str) -> Result<Vec<&str>, MountError> {
    let outside = || MountError::Outside { path: path.to_owned() };
    let mut names = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => names.push(name.to_str().ok_or_else(outside)?),
            Component::CurDir => {}
            _ => return Err(outside()),
        }
    }
    Ok(names)
}

fn find(volume: &Path, names: &[&str]) -> Result<OwnedFd, Errno> {
    let root = open(volume, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    // What is made inside is like the volume itself, or a group could not use it.
    let mode = Mode::from_raw_mode(fstat(&root)?.st_mode & 0o7777);
    let mut above = beneath(&root, ".")?;
    for (count, name) in names.iter().enumerate() {
        let so_far = names.get(..=count).unwrap_or_default().join("/");
        above = match beneath(&root, &so_far) {
            Err(Errno::NOENT) => make(&above, name, mode)?,
            found => found?,
        };
    }
    Ok(above)
}

/// Links are followed as long as they stay inside.
fn beneath(root: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    loop {
        match openat2(root, path, flags, Mode::empty(), resolve) {
            // Somebody moved things about while the kernel looked.
            Err(Errno::AGAIN | Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}

fn make(above: &OwnedFd, name: &str, mode: Mode) -> Result<OwnedFd, Errno> {
    mkdirat(above.as_fd(), name, mode)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(above, name, flags, Mode::empty())?;
    // Whatever the process' own mask is.
    fchmod(&made, mode)?;
    Ok(made)
}

/// What is mounted over has to be of the same kind.
fn make_target(target: &Path, is_folder: bool) -> io::Result<()> {
    if let Some(above) = target.parent() {
        fs::create_dir_all(above)?;
    }
    match fs::symlink_metadata(target) {
        Ok(found) if found.is_dir() == is_folder => return Ok(()),
        Ok(found) if found.is_dir() => fs::remove_dir(target)?,
        Ok(_) => fs::remove_file(target)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if is_folder { fs::create_dir(target) } else { fs::File::create(target).map(drop) }
}
