//! What is mounted where, as the kernel tells it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::mount::{MountFlags, UnmountFlags, unmount};

use crate::mounts::MountError;
use crate::nfs;

#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) path: PathBuf,
    options: String,
    /// Whether another machine has what is there.
    is_far: bool,
}

impl Point {
    /// Takes it away, whoever uses it.
    fn detach(&self) -> Result<(), MountError> {
        if self.is_far { nfs::unmount(&self.path) } else { detach(&self.path) }
    }

    /// How it is mounted: what a change of one flag has to repeat, or it is lost.
    pub(crate) fn flags(&self) -> MountFlags {
        self.options.split(',').fold(MountFlags::empty(), |flags, option| match option {
            "ro" => flags | MountFlags::RDONLY,
            "nosuid" => flags | MountFlags::NOSUID,
            "nodev" => flags | MountFlags::NODEV,
            "noexec" => flags | MountFlags::NOEXEC,
            "noatime" => flags | MountFlags::NOATIME,
            "nodiratime" => flags | MountFlags::NODIRATIME,
            "relatime" => flags | MountFlags::RELATIME,
            _ => flags,
        })
    }
}

/// Whether something is mounted exactly there. Never asks a folder of another machine that does not answer.
pub(crate) fn is_mounted(path: &Path) -> Result<bool, MountError> {
    let told = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC, StatxFlags::empty());
    match told {
        Ok(told) if told.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) => {
            Ok(told.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
        }
        Err(rustix::io::Errno::NOENT) => Ok(false),
        _ => is_listed(path),
    }
}

/// Whether there is something at a path. Never asks a folder of another machine that does not answer.
pub fn is_there(path: &Path) -> bool {
    statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::empty()).is_ok()
}

/// Whether something is mounted exactly there, as the kernel's table has it.
pub(crate) fn is_listed(path: &Path) -> Result<bool, MountError> {
    Ok(points()?.iter().any(|point| point.path == path))
}

/// At a folder and below it, the deepest first.
pub(crate) fn below(folder: &Path) -> Result<Vec<Point>, MountError> {
    let mut points = points()?;
    points.retain(|point| point.path.starts_with(folder));
    points.reverse();
    Ok(points)
}

/// Takes away everything that is mounted at a folder and below it. Whoever still uses it keeps it until he ends.
pub(crate) fn clear(folder: &Path) -> Result<(), MountError> {
    clear_those(folder, |_| true)
}

/// The same, except that what is mounted at the folder itself stays.
pub fn clear_below(folder: &Path) -> Result<(), MountError> {
    clear_those(folder, |path| path != folder)
}

fn clear_those(folder: &Path, is_meant: impl Fn(&Path) -> bool) -> Result<(), MountError> {
    let mut before = usize::MAX;
    // What is mounted on top of another mount hides it until it is gone.
    loop {
        let mut points = below(folder)?;
        points.retain(|point| is_meant(&point.path));
        match points.first() {
            None => return Ok(()),
            // Something else lies over it, further up.
            Some(point) if points.len() >= before => {
                return Err(MountError::io("unmount", &point.path)(io::ErrorKind::ResourceBusy.into()));
            }
            Some(_) => before = points.len(),
        }
        points.iter().try_for_each(Point::detach)?;
    }
}

/// What is not mounted needs no unmounting.
pub(crate) fn detach(path: &Path) -> Result<(), MountError> {
    match unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
        Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(MountError::io("unmount", path)(error.into())),
    }
}

/// In the order in which they were mounted.
fn points() -> Result<Vec<Point>, MountError> {
    let table = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(table).map_err(MountError::io("read", table))?;
    Ok(text.lines().filter_map(point).collect())
}

fn point(line: &str) -> Option<Point> {
    let (place, kind) = line.split_once(" - ")?;
    let mut words = place.split(' ').skip(4);
    let (path, options) = (unescaped(words.next()?), words.next()?.to_owned());
    Some(Point { path, options, is_far: kind.starts_with("nfs") })
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
mod tests {
    use super::*;

    #[test]
    fn names_of_mounts_are_read_as_they_are() {
        for (text, path) in [("/a", "/a"), (r"/a\040b", "/a b"), (r"/a\134b", r"/a\b"), (r"/a\9", r"/a\9")] {
            assert_eq!(unescaped(text), Path::new(path));
        }
    }

    #[test]
    fn folders_of_other_machines_are_known() {
        for (line, is_far) in [
            ("31 22 0:5 / /a rw,relatime shared:1 - nfs4 192.0.2.1:/x rw,vers=4.2", true),
            ("31 22 0:5 / /a rw - nfs 192.0.2.1:/x rw,vers=3", true),
            ("31 22 0:5 / /a rw shared:1 master:2 - tmpfs nfs rw", false),
        ] {
            let point = point(line).unwrap();
            assert_eq!((&*point.path, point.is_far), (Path::new("/a"), is_far), "{line}");
        }
    }

    #[test]
    fn flags_are_read_as_they_are() {
        let point =
            |options: &str| Point { path: PathBuf::new(), options: options.to_owned(), is_far: false };
        for (options, flags) in [
            ("rw", MountFlags::empty()),
            ("ro,nosuid", MountFlags::RDONLY | MountFlags::NOSUID),
            ("rw,nodev,noexec,relatime", MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RELATIME),
        ] {
            assert_eq!(point(options).flags(), flags, "{options}");
        }
    }
}
