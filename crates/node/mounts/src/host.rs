//! Places on the node that a pod asks for.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::mounts::MountError;
use crate::volume::HostKind;

/// Checks that what is there is what is wanted, or makes it.
pub(crate) fn prepare(path: &Path, kind: HostKind) -> Result<PathBuf, MountError> {
    let found = match fs::metadata(path) {
        Ok(found) => Some(found.file_type()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(MountError::io("look at", path)(error)),
    };
    let wrong = |wanted| MountError::WrongKind { path: path.to_owned(), wanted };
    match (kind, found) {
        (HostKind::FolderOrNew, None) => {
            let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
            made.map_err(MountError::io("make", path))?;
        }
        (HostKind::FileOrNew, None) => {
            // Whoever else was faster made the same.
            let made = fs::File::options().create(true).truncate(false).write(true).mode(0o644).open(path);
            made.map(drop).map_err(MountError::io("make", path))?;
        }
        (HostKind::Any, None) => {
            // Where nothing is, the runtime would make a folder; so it is made here, with modes of our choice.
            let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
            made.map_err(MountError::io("make", path))?;
        }
        (HostKind::Any, Some(_)) => {}
        (HostKind::Folder | HostKind::FolderOrNew, Some(found)) if found.is_dir() => {}
        (HostKind::File | HostKind::FileOrNew, Some(found)) if found.is_file() => {}
        (HostKind::Socket, Some(found)) if found.is_socket() => {}
        (HostKind::CharDevice, Some(found)) if found.is_char_device() => {}
        (HostKind::BlockDevice, Some(found)) if found.is_block_device() => {}
        (HostKind::Folder | HostKind::FolderOrNew, _) => return Err(wrong("a directory")),
        (HostKind::File | HostKind::FileOrNew, _) => return Err(wrong("a file")),
        (HostKind::Socket, _) => return Err(wrong("a socket file")),
        (HostKind::CharDevice, _) => return Err(wrong("a character device")),
        (HostKind::BlockDevice, _) => return Err(wrong("a block device")),
    }
    Ok(path.to_owned())
}

/// A folder of the node that pods are given.
pub(crate) fn local(path: &Path, make: bool) -> Result<PathBuf, MountError> {
    match fs::metadata(path) {
        Ok(_) => Ok(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && make => {
            if let Some(above) = path.parent() {
                let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(above);
                made.map_err(MountError::io("make", above))?;
            }
            // Whoever runs in the pod, it is his.
            crate::mounts::new_folder(path, 0o777)?;
            Ok(path.to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(MountError::Missing { path: path.to_owned() })
        }
        Err(error) => Err(MountError::io("look at", path)(error)),
    }
}
