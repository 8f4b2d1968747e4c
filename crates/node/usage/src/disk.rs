//! What file systems have, and what folders hold.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::statvfs;

use crate::error::UsageError;

/// In bytes and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    pub capacity: u64,
    pub available: u64,
    pub used: u64,
    pub inodes: u64,
    pub inodes_free: u64,
}

/// In bytes and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    pub bytes: u64,
    pub inodes: u64,
}

impl std::ops::AddAssign for Stored {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.inodes += other.inodes;
    }
}

/// The file system that a path is on.
pub fn disk(path: &Path) -> Result<Disk, UsageError> {
    let found = statvfs(path).map_err(|error| UsageError::io("measure", path)(error.into()))?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Disk {
        capacity: bytes(found.f_blocks),
        available: bytes(found.f_bavail),
        used: bytes(found.f_blocks.saturating_sub(found.f_bfree)),
        inodes: found.f_files,
        inodes_free: found.f_ffree,
    })
}

/// What a folder holds on its own file system. What goes while it is looked at is not counted.
pub fn stored(path: &Path) -> Stored {
    let Ok(top) = fs::symlink_metadata(path) else { return Stored::default() };
    let mut twins = HashSet::new();
    let mut sum = Stored::default();
    let mut open = vec![path.to_owned()];
    let mut count = |meta: &fs::Metadata| {
        // A file with several names is there once.
        if meta.is_dir() || meta.nlink() <= 1 || twins.insert(meta.ino()) {
            sum += Stored { bytes: meta.blocks() * 512, inodes: 1 };
        }
    };
    count(&top);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.dev() != top.dev() {
                continue;
            }
            count(&meta);
            if meta.is_dir() {
                open.push(entry.path());
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_measured_once_for_each_file() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("x"), vec![1; 100_000]).unwrap();
        let before = stored(folder.path());
        assert!((100_000..200_000).contains(&before.bytes), "{before:?}");
        assert_eq!(before.inodes, 4);
        fs::hard_link(below.join("x"), below.join("y")).unwrap();
        std::os::unix::fs::symlink("/", below.join("z")).unwrap();
        assert_eq!(stored(folder.path()).inodes, 5);
        assert_eq!(stored(&folder.path().join("none")), Stored::default());
        let disk = disk(folder.path()).unwrap();
        assert!(disk.capacity > disk.available, "{disk:?}");
    }
}
