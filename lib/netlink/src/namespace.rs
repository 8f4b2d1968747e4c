//! A network namespace, and work done inside it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{FsWord, fstatfs};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// What the file system of namespaces calls itself.
const NSFS: FsWord = 0x6e73_6673;
const HERE: &str = "/proc/thread-self/ns/net";

#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// A path that is no namespace is not found: what is left of one that is gone is an ordinary file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        match fstatfs(&file)?.f_type {
            NSFS => Ok(Self(file)),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "this is no network namespace")),
        }
    }

    /// The one that this thread is in.
    pub fn here() -> io::Result<Self> {
        Self::open(Path::new(HERE))
    }

    /// Works on this thread inside the namespace, and comes back.
    pub fn inside<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let home = Self::here()?;
        self.enter()?;
        let done = work();
        home.enter()?;
        Ok(done)
    }

    fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    pub(crate) fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
