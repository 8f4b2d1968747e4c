//! A whole state in one checksummed file: what the log is cut short with and what a backup is. Knows no folder.

use std::io;
use std::path::{Path, PathBuf};

use crate::Snapshot;
use crate::disk::{Disk, DiskFile};
use crate::embedded::file_error;
use crate::error::{Attempt, Damage, StoreError};
use crate::format::{self, FILE_HEADER, FileHeader, FileKind, RECORD_HEADER, RecordHeader, step};
use crate::seal::Sealer;
use crate::snapshot::State;

/// Entries are written in records of about this size.
const RECORD: usize = 256 << 10;
/// So much may be on its way to the disk: a commit's sync must not wait behind a whole snapshot.
const UNSYNCED: u64 = 4 << 20;

/// Writes `snapshot` to `path`, which exists only once it is whole and durable. Between records it calls `pace` with
/// the bytes written so far and gives up if that says so; true if it was written.
pub(crate) fn write(
    disk: &dyn Disk,
    path: &Path,
    snapshot: &Snapshot,
    sealer: &Sealer,
    pace: impl FnMut(u64) -> bool,
) -> Result<bool, StoreError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".tmp");
    let unfinished = PathBuf::from(unfinished);
    let written = fill(disk, &unfinished, snapshot, sealer, pace)
        .map_err(|error| match error {
            Unfilled::File(error) => file_error(Attempt::Write, &unfinished, error),
            Unfilled::Seal(error) => error,
        })
        .and_then(|whole| {
            if whole {
                disk.rename(&unfinished, path).map_err(|error| file_error(Attempt::Rename, path, error))?;
                let dir = path.parent().unwrap_or(Path::new("."));
                disk.sync_dir(dir).map_err(|error| file_error(Attempt::Sync, dir, error))?;
            }
            Ok(whole)
        });
    if !matches!(written, Ok(true)) {
        // Half a snapshot is of no use, and the disk may be full of it.
        let _ = disk.remove(&unfinished);
    }
    written
}

enum Unfilled {
    File(io::Error),
    Seal(StoreError),
}

impl From<io::Error> for Unfilled {
    fn from(error: io::Error) -> Self {
        Unfilled::File(error)
    }
}

fn fill(
    disk: &dyn Disk,
    path: &Path,
    snapshot: &Snapshot,
    sealer: &Sealer,
    mut pace: impl FnMut(u64) -> bool,
) -> Result<bool, Unfilled> {
    let revision = snapshot.revision();
    let header = FileHeader { kind: FileKind::Snapshot, sequence: snapshot.len() as u64, revision, salt: 0 };
    let file = disk.create(path)?;
    file.write_all(&header.encode(), 0)?;
    let (mut at, mut number, mut unsynced) = (FILE_HEADER as u64, 0, 0);
    let mut record = format::unsealed();
    let mut entries = snapshot.range("", None).peekable();
    loop {
        while record.len() < RECORD
            && let Some((key, entry)) = entries.next()
        {
            step::encode_kept(&mut record, key, entry, sealer).map_err(Unfilled::Seal)?;
        }
        // An empty record marks the end, so that a file cut between two records is noticed.
        let end = record.len() == RECORD_HEADER;
        format::seal(&mut record, header.salt, number, revision);
        file.write_all(&record, at)?;
        at += record.len() as u64;
        unsynced += record.len() as u64;
        number += 1;
        if end {
            file.sync()?;
            return Ok(true);
        }
        if unsynced >= UNSYNCED {
            file.sync()?;
            unsynced = 0;
        }
        if !pace(at) {
            return Ok(false);
        }
        record.truncate(RECORD_HEADER);
        record.fill(0);
    }
}

/// Reads a whole snapshot, or says where it is damaged.
pub(crate) fn read(disk: &dyn Disk, path: &Path, sealer: &Sealer) -> Result<State, StoreError> {
    let file = disk.open(path).map_err(|error| file_error(Attempt::Open, path, error))?;
    let damaged = |offset: u64, why| StoreError::corrupt(path.to_owned(), offset, why);
    let header = header(&*file, FileKind::Snapshot, path)?;
    let mut state = State::default();
    let (mut at, mut body) = (FILE_HEADER as u64, Vec::new());
    for number in 0.. {
        let record = record(&*file, at, header.salt, &mut body)
            .map_err(|error| file_error(Attempt::Read, path, error))?
            .filter(|record| record.sequence == number && record.revision == header.revision)
            .ok_or_else(|| damaged(at, Damage::Truncated))?;
        if record.len == 0 {
            break;
        }
        step::replay(&mut state, &body, sealer, |_| ()).map_err(|why| damaged(at, why))?;
        at += record.size();
    }
    if state.map.len() as u64 != header.sequence {
        return Err(damaged(at, Damage::Truncated));
    }
    state.revision = header.revision;
    Ok(state)
}

pub(crate) fn header(file: &dyn DiskFile, kind: FileKind, path: &Path) -> Result<FileHeader, StoreError> {
    let damaged = |why| StoreError::Corrupt { file: path.to_owned(), offset: 0, why };
    let mut bytes = [0; FILE_HEADER];
    match file.read_exact(&mut bytes, 0) {
        Ok(()) => FileHeader::decode(kind, &bytes).map_err(damaged),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(damaged(Damage::Truncated)),
        Err(error) => Err(file_error(Attempt::Read, path, error)),
    }
}

/// The record at `at`, its body in `body`; none if no whole record stands there.
pub(crate) fn record(
    file: &dyn DiskFile,
    at: u64,
    salt: u32,
    body: &mut Vec<u8>,
) -> io::Result<Option<RecordHeader>> {
    let mut bytes = [0; RECORD_HEADER];
    let left = file.size()?.saturating_sub(at);
    if left < RECORD_HEADER as u64 {
        return Ok(None);
    }
    file.read_exact(&mut bytes, at)?;
    let Some(header) = RecordHeader::decode(&bytes) else { return Ok(None) };
    if header.len as u64 > left - RECORD_HEADER as u64 {
        return Ok(None);
    }
    body.resize(header.len, 0);
    file.read_exact(body, at + RECORD_HEADER as u64)?;
    Ok(header.matches(body, salt).then_some(header))
}
