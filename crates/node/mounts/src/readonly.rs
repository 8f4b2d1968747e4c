//! A place under which nothing can be written, whatever else is mounted below it. A runtime makes only the place itself
//! read-only; so a copy of its mounts is made here, and each of them set.

use std::fs;
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount};

use crate::mounts::MountError;
use crate::table;

pub(crate) fn mount(source: &Path, target: &Path) -> Result<(), MountError> {
    // What was mounted below the source since last time has to be seen as well.
    table::clear(target)?;
    let is_folder = fs::metadata(source).map_err(MountError::io("look at", source))?.is_dir();
    make(target, is_folder).map_err(MountError::io("make", target))?;
    let failed = |error: rustix::io::Errno| MountError::io("mount", target)(error.into());
    mount_bind_recursive(source, target).map_err(failed)?;
    // What is mounted at the source later would be writable.
    let apart = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change(target, apart).map_err(failed)?;
    for point in table::below(target)? {
        let flags = MountFlags::BIND | MountFlags::RDONLY | point.flags();
        mount_remount(&point.path, flags, "").map_err(failed)?;
    }
    Ok(())
}

fn make(target: &Path, is_folder: bool) -> io::Result<()> {
    if let Some(above) = target.parent() {
        fs::create_dir_all(above)?;
    }
    match fs::symlink_metadata(target) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if is_folder { fs::create_dir(target) } else { fs::File::create(target).map(drop) }
}
