//! What is mounted where, as the kernel tells it.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::mount::{MountFlags, UnmountFlags, unmount};

use crate::mounts::MountError;

pub(crate) struct Point {
    pub(crate) path: PathBuf,
    options: String,
}

impl Point {
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
        _ => Ok(points()?.iter().any(|point| point.path == path)),
    }
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
    // What is mounted on top of another mount hides it until it is gone.
    loop {
        let points = below(folder)?;
        if points.is_empty() {
            return Ok(());
        }
        for point in points {
            detach(&point.path)?;
        }
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
    let point = |line: &str| {
        let mut words = line.split(' ').skip(4);
        Some(Point { path: unescaped(words.next()?), options: words.next()?.to_owned() })
    };
    Ok(text.lines().filter_map(point).collect())
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
    fn flags_are_read_as_they_are() {
        let point = |options: &str| Point { path: PathBuf::new(), options: options.to_owned() };
        for (options, flags) in [
            ("rw", MountFlags::empty()),
            ("ro,nosuid", MountFlags::RDONLY | MountFlags::NOSUID),
            ("rw,nodev,noexec,relatime", MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RELATIME),
        ] {
            assert_eq!(point(options).flags(), flags, "{options}");
        }
    }
}
