//! Folders that lie on each other, seen as one. The kernel itself refuses to write: there is no layer that could be written to,
//! so it does not matter how the place is mounted once more into a container.

use std::ffi::CString;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount as mount_new};

use crate::group::door;
use crate::mounts::MountError;
use crate::table;

/// The kernel wants at least two layers; this one, beside the places, is empty.
pub(crate) const NOTHING: &str = ".nothing";

/// What is mounted already stays.
pub(crate) fn mount(layers: &[impl AsRef<Path>], place: &Path) -> Result<(), MountError> {
    if table::is_mounted(place)? {
        return Ok(());
    }
    let nothing = place.with_file_name(NOTHING);
    for folder in [place, &nothing] {
        fs::create_dir_all(folder).map_err(MountError::io("make", folder))?;
    }
    let failed = |error: Errno| MountError::io("mount", place)(error.into());
    // Named by what is open: the words that the kernel takes are few, and many long names would not fit.
    let mut opened: Vec<OwnedFd> = Vec::new();
    for layer in layers.iter().map(AsRef::as_ref).chain([nothing.as_path()]) {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let layer =
            open(layer, flags, Mode::empty()).map_err(|error| MountError::io("open", layer)(error.into()));
        opened.push(layer?);
    }
    let names: Vec<String> = opened.iter().map(|layer| door(layer).display().to_string()).collect();
    let options = CString::new(format!("lowerdir={}", names.join(":"))).map_err(|_| failed(Errno::INVAL))?;
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount_new("overlay", place, "overlay", flags, &*options).map_err(failed)
}
