//! How files are laid out: a header, then checksummed records. Pure: reads and writes slices, knows no disk.
//! The layout is described in docs/decisions/0001-own-log.md.

pub(crate) mod step;

use crate::Revision;
use crate::error::Damage;

pub(crate) const FILE_HEADER: usize = 48;
pub(crate) const RECORD_HEADER: usize = 32;
/// Records begin at multiples of this, so that a search for them need not look at every byte.
pub(crate) const ALIGN: usize = 8;

const VERSION: u32 = 1;
const RECORD_MAGIC: [u8; 4] = *b"KdgR";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Segment,
    Snapshot,
}

impl FileKind {
    fn magic(self) -> [u8; 8] {
        match self {
            FileKind::Segment => *b"KEDGELOG",
            FileKind::Snapshot => *b"KEDGESNP",
        }
    }
}

/// The start of every file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub(crate) kind: FileKind,
    /// A segment's place in the log; of a snapshot, the number of entries.
    pub(crate) sequence: u64,
    /// The newest revision before a segment's first record; of a snapshot, its revision.
    pub(crate) revision: Revision,
    /// Chosen at random and part of every checksum in the file. A recycled file still holds records of its former
    /// life, and a stored value may hold anything: neither can pass for a record of this file.
    pub(crate) salt: u32,
}

impl FileHeader {
    pub(crate) fn encode(&self) -> [u8; FILE_HEADER] {
        let mut out = [0; FILE_HEADER];
        out[..8].copy_from_slice(&self.kind.magic());
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&self.salt.to_le_bytes());
        out[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        out[24..32].copy_from_slice(&self.revision.get().to_le_bytes());
        let sum = crc32c::crc32c(&out[..FILE_HEADER - 4]);
        out[FILE_HEADER - 4..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    pub(crate) fn decode(kind: FileKind, bytes: &[u8; FILE_HEADER]) -> Result<Self, Damage> {
        let (body, sum) = bytes.split_at(FILE_HEADER - 4);
        if body[..8] != kind.magic() {
            return Err(Damage::Header);
        }
        if u32_at(bytes, 8) > VERSION {
            return Err(Damage::Version);
        }
        if crc32c::crc32c(body).to_le_bytes() != sum {
            return Err(Damage::Header);
        }
        let revision = Revision::new(u64_at(bytes, 24));
        Ok(FileHeader { kind, sequence: u64_at(bytes, 16), revision, salt: u32_at(bytes, 12) })
    }
}

/// The start of every record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) len: usize,
    sum: u32,
    /// Of a segment's record, the segment's; of a snapshot's, the record's own number.
    pub(crate) sequence: u64,
    /// The newest revision in the record.
    pub(crate) revision: Revision,
}

impl RecordHeader {
    /// Whether bytes that start like this can begin a record.
    pub(crate) fn may_begin(bytes: &[u8]) -> bool {
        bytes.starts_with(&RECORD_MAGIC)
    }

    /// None if these bytes do not begin a record.
    pub(crate) fn decode(bytes: &[u8; RECORD_HEADER]) -> Option<Self> {
        // Four bytes are kept for a later version, which will have to be told apart from damage.
        (bytes[..4] == RECORD_MAGIC && u32_at(bytes, 12) == 0).then(|| RecordHeader {
            len: u32_at(bytes, 4) as usize,
            sum: u32_at(bytes, 8),
            sequence: u64_at(bytes, 16),
            revision: Revision::new(u64_at(bytes, 24)),
        })
    }

    pub(crate) fn matches(&self, body: &[u8], salt: u32) -> bool {
        self.sum == sum(salt, self.sequence, self.revision, body)
    }

    /// With the filling up to where the next record may begin.
    pub(crate) fn size(&self) -> u64 {
        (RECORD_HEADER + self.len).next_multiple_of(ALIGN) as u64
    }
}

/// An empty record to encode steps into; [`seal`] makes it whole.
pub(crate) fn unsealed() -> Vec<u8> {
    vec![0; RECORD_HEADER]
}

/// Writes the header in front of a record's body and fills the record up.
pub(crate) fn seal(record: &mut Vec<u8>, salt: u32, sequence: u64, revision: Revision) {
    let body = &record[RECORD_HEADER..];
    let (len, sum) = (body.len() as u32, sum(salt, sequence, revision, body));
    record[..4].copy_from_slice(&RECORD_MAGIC);
    record[4..8].copy_from_slice(&len.to_le_bytes());
    record[8..12].copy_from_slice(&sum.to_le_bytes());
    record[16..24].copy_from_slice(&sequence.to_le_bytes());
    record[24..32].copy_from_slice(&revision.get().to_le_bytes());
    record.resize(record.len().next_multiple_of(ALIGN), 0);
}

fn sum(salt: u32, sequence: u64, revision: Revision, body: &[u8]) -> u32 {
    let mut head = [0; 24];
    head[..4].copy_from_slice(&salt.to_le_bytes());
    head[4..8].copy_from_slice(&(body.len() as u32).to_le_bytes());
    head[8..16].copy_from_slice(&sequence.to_le_bytes());
    head[16..].copy_from_slice(&revision.get().to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c(&head), body)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

#[cfg(test)]
mod tests;
