//! The store's folder: which names stand for what, and file operations whose errors say what was attempted on what.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Revision;
use crate::disk::{Disk, DiskFile};
use crate::error::{Attempt, StoreError};

pub(crate) struct Folder {
    pub(crate) dir: PathBuf,
    pub(crate) disk: Arc<dyn Disk>,
}

/// What is in the folder, each kind in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) snapshots: Vec<Revision>,
    pub(crate) segments: Vec<u64>,
    pub(crate) spares: Vec<u64>,
    /// Files whose writer did not get to give them their name.
    pub(crate) unfinished: Vec<PathBuf>,
}

impl Folder {
    pub(crate) fn segment(&self, sequence: u64) -> PathBuf {
        self.dir.join(format!("log-{sequence:016x}"))
    }

    pub(crate) fn snapshot(&self, revision: Revision) -> PathBuf {
        self.dir.join(format!("snapshot-{:016x}", revision.get()))
    }

    pub(crate) fn spare(&self, number: u64) -> PathBuf {
        self.dir.join(format!("spare-{number:016x}"))
    }

    pub(crate) fn list(&self) -> Result<Listing, StoreError> {
        let names = self.disk.list(&self.dir).map_err(|error| file_error(Attempt::List, &self.dir, error))?;
        let mut listing = Listing::default();
        for name in names {
            let number = |kind: &str| {
                let digits = name.strip_prefix(kind).filter(|digits| digits.len() == 16)?;
                u64::from_str_radix(digits, 16).ok()
            };
            if name.ends_with(".tmp") {
                listing.unfinished.push(self.dir.join(&name));
            } else if let Some(sequence) = number("log-") {
                listing.segments.push(sequence);
            } else if let Some(revision) = number("snapshot-") {
                listing.snapshots.push(Revision::new(revision));
            } else if let Some(number) = number("spare-") {
                listing.spares.push(number);
            }
        }
        listing.snapshots.sort_unstable();
        listing.segments.sort_unstable();
        listing.spares.sort_unstable();
        Ok(listing)
    }

    pub(crate) fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>, StoreError> {
        self.disk.open(path).map_err(|error| file_error(Attempt::Open, path, error))
    }

    pub(crate) fn remove(&self, path: &Path) -> Result<(), StoreError> {
        self.disk.remove(path).map_err(|error| file_error(Attempt::Remove, path, error))
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        self.disk.rename(from, to).map_err(|error| file_error(Attempt::Rename, from, error))
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.disk.sync_dir(&self.dir).map_err(|error| file_error(Attempt::Sync, &self.dir, error))
    }
}

pub(crate) fn file_error(attempt: Attempt, path: &Path, source: io::Error) -> StoreError {
    StoreError::File { attempt, path: path.to_owned(), source: Arc::new(source) }
}
