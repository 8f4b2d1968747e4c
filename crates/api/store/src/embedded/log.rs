//! The end of the log, where records are appended: one write and one sync each, a new segment when one is full.
//! Knows nothing of transactions; used by one thread.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::Folder;
use crate::Revision;
use crate::disk::{DiskFile, is_full, is_scarce};
use crate::error::StoreError;
use crate::format::{self, FILE_HEADER, FileHeader, FileKind, RECORD_HEADER};

/// The size of the first segment of a new log, unless others are smaller still.
const FIRST_BYTES: u64 = 1 << 20;

pub(crate) struct Log {
    folder: Arc<Folder>,
    segment_bytes: u64,
    file: Box<dyn DiskFile>,
    path: PathBuf,
    header: FileHeader,
    size: u64,
    /// Where the next record goes.
    at: u64,
    /// The next segment may have its name already, so nothing more may go into this one.
    ended: bool,
    /// The newest revision in the log.
    newest: Revision,
    /// Bytes appended since the log was last cut short.
    pub(crate) grown: u64,
}

/// A segment of the log that is not its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    /// The newest revision before its first record.
    pub(crate) base: Revision,
}

impl Log {
    /// Goes on at `at` of an existing segment, which ends the log at `newest`.
    pub(crate) fn resume(
        folder: Arc<Folder>,
        segment_bytes: u64,
        (file, header, size): (Box<dyn DiskFile>, FileHeader, u64),
        at: u64,
        newest: Revision,
        grown: u64,
    ) -> Self {
        let path = folder.segment(header.sequence);
        Log { folder, segment_bytes, file, path, header, size, at, ended: false, newest, grown }
    }

    /// Begins a log in a folder that has none. Its first segment is small, so that a new store is there at once; the
    /// next is made ready beside the work.
    pub(crate) fn begin(
        folder: Arc<Folder>,
        segment_bytes: u64,
        sequence: u64,
        newest: Revision,
    ) -> Result<Self, StoreError> {
        let header = new_header(sequence, newest);
        let path = folder.segment(sequence);
        let (file, size) = new_segment(&folder, segment_bytes.min(FIRST_BYTES), None, &header, 0)
            .map_err(|error| append_error(&path, error))?;
        let at = FILE_HEADER as u64;
        Ok(Log { folder, segment_bytes, file, path, header, size, at, ended: false, newest, grown: 0 })
    }

    pub(crate) fn segment(&self) -> Segment {
        Segment { sequence: self.header.sequence, base: self.header.revision }
    }

    /// Whether it is time to have the next segment ready.
    pub(crate) fn is_half_full(&self) -> bool {
        self.at > self.size / 2
    }

    pub(crate) fn fits(&self, record: &[u8]) -> bool {
        !self.ended && self.at + (record.len().next_multiple_of(format::ALIGN)) as u64 <= self.size
    }

    /// Ends the current segment and begins the next, in `spare` if there is one that can be written over. After
    /// [`StoreError::Full`] it can be tried again.
    pub(crate) fn rotate(&mut self, spare: Option<PathBuf>, room_for: usize) -> Result<Segment, StoreError> {
        self.ended = true;
        let header = new_header(self.header.sequence + 1, self.newest);
        let (file, size) =
            new_segment(&self.folder, self.segment_bytes, spare.as_deref(), &header, room_for as u64)
                .map_err(|error| failed(&self.path, is_scarce(&error), error))?;
        self.path = self.folder.segment(header.sequence);
        (self.file, self.header, self.size, self.at) = (file, header, size, FILE_HEADER as u64);
        self.ended = false;
        Ok(self.segment())
    }

    /// Makes an unsealed record durable. [`StoreError::Full`] means that nothing was written and that a later try
    /// may succeed; after any other error the log must not be used again.
    pub(crate) fn append(&mut self, record: &mut Vec<u8>, revision: Revision) -> Result<(), StoreError> {
        format::seal(record, self.header.salt, self.header.sequence, revision);
        if let Err(error) = self.file.write_all(record, self.at) {
            if is_full(&error) {
                // Part of the record may stand there. Without its start it is no record, should we be killed
                // before the next one is written over it.
                let _ = self.file.write_all(&[0; RECORD_HEADER], self.at);
            }
            return Err(append_error(&self.path, error));
        }
        self.file
            .sync()
            .map_err(|error| StoreError::Sync { log: self.path.clone(), source: Arc::new(error) })?;
        self.at += record.len() as u64;
        self.grown += record.len() as u64;
        self.newest = revision;
        Ok(())
    }
}

/// Writes zeros to a new file, so that its space is really there and a sync of it later has no metadata to write.
pub(crate) fn make_spare(folder: &Folder, path: &Path, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let file = folder.disk.create(path)?;
    let mut at = 0;
    while at < bytes {
        let len = (bytes - at).min(ZEROS.len() as u64);
        file.write_all(&ZEROS[..len as usize], at)?;
        at += len;
    }
    file.sync()?;
    Ok(file)
}

/// The file gets its name as a segment only when its header is durable.
fn new_segment(
    folder: &Folder,
    bytes: u64,
    spare: Option<&Path>,
    header: &FileHeader,
    room_for: u64,
) -> io::Result<(Box<dyn DiskFile>, u64)> {
    let fresh = folder.segment(header.sequence).with_extension("tmp");
    // A record larger than a segment gets a segment of its own size.
    let bytes = bytes.max(FILE_HEADER as u64 + room_for.next_multiple_of(format::ALIGN as u64));
    let made = spare
        .map_or_else(
            || make_spare(folder, &fresh, bytes).map(|file| (file, bytes)),
            |spare| {
                let file = folder.disk.open(spare)?;
                let size = file.size()?;
                Ok((file, size))
            },
        )
        .and_then(|(file, size)| {
            file.write_all(&header.encode(), 0)?;
            file.sync()?;
            folder.disk.rename(spare.unwrap_or(&fresh), &folder.segment(header.sequence))?;
            folder.disk.sync_dir(&folder.dir)?;
            Ok((file, size))
        });
    if made.is_err() && spare.is_none() {
        // On a full disk the half-made file would keep it full.
        let _ = folder.disk.remove(&fresh);
    }
    made
}

fn new_header(sequence: u64, revision: Revision) -> FileHeader {
    let salt = RandomState::new().build_hasher().finish() as u32;
    FileHeader { kind: FileKind::Segment, sequence, revision, salt }
}

fn append_error(log: &Path, error: io::Error) -> StoreError {
    failed(log, is_full(&error), error)
}

fn failed(log: &Path, full: bool, error: io::Error) -> StoreError {
    let (log, source) = (log.to_owned(), Arc::new(error));
    match full {
        true => StoreError::Full { log, source },
        false => StoreError::Append { log, source },
    }
}
