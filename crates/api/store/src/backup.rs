//! A backup is a snapshot in one checksummed file of its own. Works on any engine, because it starts from a snapshot.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use crate::disk::OsDisk;
use crate::embedded::{begin_log, file_error, snapshot_file};
use crate::error::{Attempt, StoreError};
use crate::seal::Sealer;
use crate::{Revision, Snapshot};

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    pub revision: Revision,
    pub objects: u64,
    pub bytes: u64,
}

/// A restored store goes on so far ahead that no revision of its former life after the backup comes up again with
/// another meaning. A client that still holds one is told that it is compacted, and lists anew.
const LEAP: u64 = 1_000_000_000;

pub(crate) fn write(snapshot: &Snapshot, to: &Path, sealer: &Sealer) -> Result<Backup, StoreError> {
    snapshot_file::write(&OsDisk, to, snapshot, sealer, |_| true)?;
    Ok(describe(snapshot))
}

pub(crate) fn restore(from: &Path, into: &Path, sealer: &Sealer) -> Result<Backup, StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(into)
        .map_err(|error| file_error(Attempt::Create, into, error))?;
    let mut files = fs::read_dir(into).map_err(|error| file_error(Attempt::List, into, error))?;
    if files.next().is_some() {
        return Err(StoreError::NotEmpty { dir: into.to_owned() });
    }
    // Read whole, so that a damaged backup is refused now and not when the store is opened.
    let mut state = snapshot_file::read(&OsDisk, from, sealer)?;
    state.revision = Revision::new(state.revision.get() + LEAP);
    let snapshot = Snapshot::new(Arc::new(state));
    begin_log(into, snapshot.revision())?;
    let name = format!("snapshot-{:016x}", snapshot.revision().get());
    snapshot_file::write(&OsDisk, &into.join(name), &snapshot, sealer, |_| true)?;
    Ok(describe(&snapshot))
}

fn describe(snapshot: &Snapshot) -> Backup {
    Backup { revision: snapshot.revision(), objects: snapshot.len() as u64, bytes: snapshot.bytes() }
}
