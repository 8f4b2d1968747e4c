//! A small disk of a machine's own, which can be filled to the last byte and freed again without anybody else noticing.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// In memory, so that it costs what is in it and no more.
    pub fn new(folder: &Path, mebibytes: u32) -> Self {
        fs::create_dir_all(folder).unwrap();
        let size = std::ffi::CString::new(format!("size={mebibytes}m,mode=755")).unwrap();
        mount("tmpfs", folder, "tmpfs", MountFlags::empty(), &*size).unwrap();
        Self { folder: folder.to_owned() }
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }

    /// Until not one more byte fits.
    pub fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.ballast()).unwrap();
        for size in [1 << 20, 1 << 12, 1] {
            let zeros = vec![0_u8; size];
            while file.write_all(&zeros).is_ok() {}
        }
    }

    pub fn free(&self) {
        let _there_may_be_none = fs::remove_file(self.ballast());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _gone = unmount(&self.folder, UnmountFlags::DETACH);
    }
}
