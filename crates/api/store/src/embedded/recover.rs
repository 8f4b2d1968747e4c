//! Opens what a former life left behind: the newest snapshot, then the log after it. Stops at a torn end of the last
//! segment, which nobody was told about; anything else that does not fit is an error, never a silent loss.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::folder::{Folder, Listing, file_error};
use super::log::{Log, Segment};
use super::{Options, snapshot_file};
use crate::disk::DiskFile;
use crate::error::{Attempt, Damage, StoreError};
use crate::format::{ALIGN, FILE_HEADER, FileHeader, FileKind, RECORD_HEADER, RecordHeader, step};
use crate::seal::Sealer;
use crate::snapshot::State;
use crate::watch::Hub;
use crate::{Event, Revision};

pub(crate) struct Recovered {
    pub(crate) state: State,
    pub(crate) hub: Hub,
    pub(crate) log: Log,
    /// All but the last segment, oldest first.
    pub(crate) segments: Vec<Segment>,
    pub(crate) spares: Vec<u64>,
}

/// A segment that was read to its end.
struct Replayed {
    file: Box<dyn DiskFile>,
    header: FileHeader,
    size: u64,
    /// Where its records end, and the newest revision up to there.
    at: u64,
    newest: Revision,
}

pub(crate) fn recover(folder: &Arc<Folder>, options: &Options) -> Result<Recovered, StoreError> {
    // A former life may have ended between giving a file its name and making that durable. We are about to rely on
    // the names that we see.
    folder.sync()?;
    let listing = folder.list()?;
    for path in &listing.unfinished {
        folder.remove(path)?;
    }
    let sealer = Sealer::new(options.seal.clone());
    let mut state = match listing.snapshots.last() {
        Some(newest) => snapshot_file::read(&*folder.disk, &folder.snapshot(*newest), &sealer)?,
        None => State::default(),
    };
    let hub = Hub::new(state.clone(), options.ring);
    let (log, segments) = match listing.segments.as_slice() {
        // Whoever writes a snapshot has a log: without it, what came after the snapshot is lost.
        [] if let Some(newest) = listing.snapshots.last() => {
            let file = folder.snapshot(*newest);
            return Err(StoreError::Corrupt { file, offset: 0, why: Damage::Alone });
        }
        [] => {
            let log = Log::begin(folder.clone(), options.segment_bytes, 1, state.revision)?;
            (log, Vec::new())
        }
        sequences => {
            replay_all(folder, options, &sealer, sequences, &mut state, |events| hub.remember(events))?
        }
    };
    hub.publish(Arc::new(state.clone()), Vec::new(), 0);
    let spares = usable_spares(folder, options, &listing)?;
    for older in listing.snapshots.iter().rev().skip(1) {
        folder.remove(&folder.snapshot(*older))?;
    }
    Ok(Recovered { state, hub, log, segments, spares })
}

fn replay_all(
    folder: &Arc<Folder>,
    options: &Options,
    sealer: &Sealer,
    sequences: &[u64],
    state: &mut State,
    mut seen: impl FnMut(Vec<Event>),
) -> Result<(Log, Vec<Segment>), StoreError> {
    let mut headers = Vec::with_capacity(sequences.len());
    for sequence in sequences {
        let path = folder.segment(*sequence);
        let header = snapshot_file::header(&*folder.open(&path)?, FileKind::Segment, &path)?;
        headers.push(Segment { sequence: *sequence, base: header.revision });
    }
    // Segments whose whole content is in the snapshot may be half recycled: some gone, some not.
    let needed = headers.iter().rposition(|segment| segment.base <= state.revision).unwrap_or(0);
    let mut ended = headers[..needed].to_vec();
    let (mut last, mut grown) = (None::<Replayed>, 0);
    for sequence in &sequences[needed..] {
        let path = folder.segment(*sequence);
        let start = state.revision;
        let next = replay(folder, &path, state, sealer, &mut seen)?;
        let follows = match &last {
            None => next.header.revision <= start,
            Some(last) => {
                next.header.sequence == last.header.sequence + 1 && next.header.revision == last.newest
            }
        };
        if !follows || next.header.sequence != *sequence {
            return Err(StoreError::Corrupt { file: path, offset: 0, why: Damage::Missing });
        }
        grown += next.at;
        if let Some(last) = last.replace(next) {
            ended.push(Segment { sequence: last.header.sequence, base: last.header.revision });
        }
    }
    let Some(Replayed { file, header, size, at, newest }) = last else {
        let log = Log::begin(folder.clone(), options.segment_bytes, 1, state.revision)?;
        return Ok((log, ended));
    };
    // A record may have been written and not synced when the process ended. It is about to be visible, so it has to
    // be durable now.
    let path = folder.segment(header.sequence);
    file.sync().map_err(|error| file_error(Attempt::Sync, &path, error))?;
    let log = Log::resume(folder.clone(), options.segment_bytes, (file, header, size), at, newest, grown);
    Ok((log, ended))
}

fn replay(
    folder: &Folder,
    path: &Path,
    state: &mut State,
    sealer: &Sealer,
    seen: &mut impl FnMut(Vec<Event>),
) -> Result<Replayed, StoreError> {
    let unreadable = |error| file_error(Attempt::Read, path, error);
    let damaged = |offset, why| StoreError::corrupt(path.to_owned(), offset, why);
    let file = folder.open(path)?;
    let size = file.size().map_err(unreadable)?;
    let header = snapshot_file::header(&*file, FileKind::Segment, path)?;
    let (mut at, mut newest, mut body) = (FILE_HEADER as u64, header.revision, Vec::new());
    while let Some(record) = snapshot_file::record(&*file, at, header.salt, &mut body).map_err(unreadable)? {
        if record.sequence != header.sequence {
            break;
        }
        if record.revision <= newest {
            return Err(damaged(at, Damage::Order));
        }
        step::replay(state, &body, sealer, &mut *seen).map_err(|why| damaged(at, why))?;
        newest = record.revision;
        at += record.size();
    }
    // A record is written only when the one before it is durable. So a whole record behind a broken one means that
    // the broken one was whole once.
    if find_record(&*file, at, size, &header, &mut body).map_err(unreadable)? {
        return Err(damaged(at, Damage::Checksum));
    }
    Ok(Replayed { file, header, size, at, newest })
}

/// Whether any whole record of this segment begins at or behind `at`.
fn find_record(
    file: &dyn DiskFile,
    mut at: u64,
    size: u64,
    segment: &FileHeader,
    body: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut window = vec![0; 256 << 10];
    while at + RECORD_HEADER as u64 <= size {
        let len = window.len().min((size - at) as usize);
        file.read_exact(&mut window[..len], at)?;
        // Most of it is zeros or belongs to the file's former life: compare eight bytes at a time.
        for (index, head) in window[..len].as_chunks::<ALIGN>().0.iter().enumerate() {
            if head == &[0; ALIGN] || !RecordHeader::may_begin(head) {
                continue;
            }
            let found = snapshot_file::record(file, at + (index * ALIGN) as u64, segment.salt, body)?;
            if found.is_some_and(|record| record.sequence == segment.sequence) {
                return Ok(true);
            }
        }
        at += len as u64;
        if !len.is_multiple_of(ALIGN) {
            break;
        }
    }
    Ok(false)
}

/// Those of the size that is now asked for; the others are removed.
fn usable_spares(folder: &Folder, options: &Options, listing: &Listing) -> Result<Vec<u64>, StoreError> {
    let mut usable = Vec::new();
    for number in &listing.spares {
        let path = folder.spare(*number);
        let size = folder.open(&path)?.size().map_err(|error| file_error(Attempt::Read, &path, error))?;
        match size == options.segment_bytes {
            true => usable.push(*number),
            false => folder.remove(&path)?,
        }
    }
    Ok(usable)
}
