//! Gives a volume to a group: every file in it becomes the group's, readable and, unless it may only be read, writable by it, and
//! what is made later inherits the group. Links are never followed, also if somebody puts one in place while we walk.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RawMode, Stat, chmod, chownat, fstat, openat,
};
use rustix::io::Errno;

use crate::mounts::MountError;
use crate::volume::Group;

const READ: RawMode = 0o440;
const READ_WRITE: RawMode = 0o660;
/// Folders are also entered, and hand on their group.
const FOLDER: RawMode = 0o2110;

/// What the group needs of a file of this mode.
pub(crate) fn mode_for_group(mode: RawMode, is_folder: bool, read_only: bool) -> RawMode {
    mode | if read_only { READ } else { READ_WRITE } | if is_folder { FOLDER } else { 0 }
}

pub(crate) fn give(root: &Path, group: Group, read_only: bool) -> Result<(), MountError> {
    let failed = |error: Errno| MountError::io("give to its group", root)(error.into());
    let opened = open(CWD, root, OFlags::empty()).map_err(failed)?;
    let found = fstat(&opened).map_err(failed)?;
    if group.trust_root && is_right(&found, group.id, read_only) {
        return Ok(());
    }
    walk(&opened, &found, group.id, read_only).map_err(failed)
}

fn is_right(found: &Stat, group: u32, read_only: bool) -> bool {
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    let mode = found.st_mode & 0o7777;
    is_folder && found.st_gid == group && mode == mode_for_group(mode, true, read_only)
}

/// The inside first: a root that is right means that everything is, also if we are killed on the way.
fn walk(opened: &OwnedFd, found: &Stat, group: u32, read_only: bool) -> Result<(), Errno> {
    if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
        // The folder was opened as a mere place; its names are read through a second door to the same one.
        let listed =
            openat(opened, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        for entry in Dir::read_from(&listed)? {
            let entry = entry?;
            if is_dots(entry.file_name()) {
                continue;
            }
            let inner = match open(opened.as_fd(), entry.file_name(), OFlags::empty()) {
                Ok(inner) => inner,
                // Somebody took it away meanwhile.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(error),
            };
            let found = fstat(&inner)?;
            walk(&inner, &found, group, read_only)?;
        }
    }
    change(opened, found, group, read_only)
}

fn change(opened: &OwnedFd, found: &Stat, group: u32, read_only: bool) -> Result<(), Errno> {
    let moves = found.st_gid != group;
    if moves {
        chownat(opened, c"", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)?;
    }
    let kind = FileType::from_raw_mode(found.st_mode);
    if kind == FileType::Symlink {
        return Ok(());
    }
    let before = found.st_mode & 0o7777;
    let mode = mode_for_group(before, kind == FileType::Directory, read_only);
    // A change of the group takes away the bits that lend somebody's rights.
    if moves || mode != before {
        chmod(door(opened), Mode::from_raw_mode(mode))?;
    }
    Ok(())
}

fn open(folder: BorrowedFd<'_>, name: impl rustix::path::Arg, more: OFlags) -> Result<OwnedFd, Errno> {
    openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC | more, Mode::empty())
}

/// A name for what is open, whatever happens to the path that it was opened by.
pub(crate) fn door(opened: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

#[cfg(test)]
mod tests;
