//! What folders take on the disk. Stays on the file system it begins on, so that what containers have mounted is not counted twice.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

/// Bytes on the disk of each thing in a folder. What cannot be read is not counted.
pub(crate) fn below(folder: &Path) -> BTreeMap<String, u64> {
    let Ok(device) = std::fs::symlink_metadata(folder).map(|meta| meta.dev()) else { return BTreeMap::new() };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), size(entry.path(), device)))
        .collect()
}

fn size(path: PathBuf, device: u64) -> u64 {
    let mut left = vec![path];
    let mut bytes = 0;
    while let Some(path) = left.pop() {
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        if meta.dev() != device {
            continue;
        }
        bytes += meta.blocks() * 512;
        if meta.is_dir() {
            left.extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    bytes
}

/// Room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) free: u64,
    pub(crate) whole: u64,
    pub(crate) free_files: u64,
    pub(crate) files: u64,
}

/// Of the file system on which a path is, or will be.
pub(crate) fn room(path: &Path) -> Option<Room> {
    let there = path.ancestors().find(|path| path.exists())?;
    let found = statvfs(there).ok()?;
    Some(Room {
        free: found.f_bavail * found.f_frsize,
        whole: found.f_blocks * found.f_frsize,
        free_files: found.f_favail,
        files: found.f_files,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_counted_with_all_that_is_in_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/file"), vec![1; 100_000]).unwrap();
        std::fs::write(folder.path().join("c"), "x").unwrap();
        let found = below(folder.path());
        assert!(found["a"] >= 100_000 && found["c"] < found["a"], "{found:?}");
        assert_eq!(found.len(), 2);
        let room = room(&folder.path().join("not/there/yet")).unwrap();
        assert!(room.free <= room.whole && room.whole > 0);
    }
}
