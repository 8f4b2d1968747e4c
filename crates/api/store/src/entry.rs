//! What a writer hands in and what is stored. Knows where the revision goes, never what the bytes mean.

mod memos;

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;

use self::memos::Memos;
use crate::Revision;

/// Bytes to store, and the place where the store writes the revision that it gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub(crate) bytes: Bytes,
    pub(crate) revision_at: Option<usize>,
}

impl Draft {
    /// Stored as they are.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Draft { bytes: bytes.into(), revision_at: None }
    }

    /// Stored with the decimal revision inserted at `offset`.
    pub fn with_revision_at(bytes: impl Into<Bytes>, offset: usize) -> Self {
        Draft { bytes: bytes.into(), revision_at: Some(offset) }
    }

    /// Whether the place for the revision lies within the bytes.
    pub(crate) fn is_sound(&self) -> bool {
        self.revision_at.is_none_or(|offset| offset <= self.bytes.len())
    }
}

/// A stored value with its revision already written into it. Cloning shares it.
#[derive(Clone)]
pub struct Entry(Arc<Stored>);

struct Stored {
    bytes: Bytes,
    created: Revision,
    modified: Revision,
    hole: Hole,
    memos: Memos,
}

/// Where in the bytes the digits of the revision stand. Two small numbers, as there is one for every entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    offset: u32,
    digits: u8,
}

impl Hole {
    pub(crate) const NONE: Hole = Hole { offset: u32::MAX, digits: 0 };

    pub(crate) fn offset(self) -> Option<usize> {
        (self != Hole::NONE).then_some(self.offset as usize)
    }

    /// As written on disk.
    pub(crate) fn raw_offset(self) -> u32 {
        self.offset
    }

    /// The hole at `offset` of an entry modified at `revision`; `u32::MAX` stands for none.
    pub(crate) fn at(offset: u32, revision: Revision) -> Self {
        match offset {
            u32::MAX => Hole::NONE,
            offset => Hole { offset, digits: digits(revision) },
        }
    }
}

impl Entry {
    /// The stored value, the revision included.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// The revision of the write that made this key exist.
    pub fn created(&self) -> Revision {
        self.0.created
    }

    /// The revision of the write that made this value.
    pub fn modified(&self) -> Revision {
        self.0.modified
    }

    /// What was remembered of it, by the type of that.
    pub fn recall<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.memos.find()
    }

    /// Keeps something that was made of the bytes for as long as the entry lives. Of each type the first stays.
    pub fn remember<T: Send + Sync + 'static>(&self, made: T) {
        self.0.memos.keep(made);
    }

    /// Whether both are the same stored value, not just equal ones.
    pub fn same(&self, other: &Entry) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The entry that `draft` becomes at `modified`. The caller has seen that the draft is sound.
    pub(crate) fn fill(draft: &Draft, created: Revision, modified: Revision) -> Self {
        match draft.revision_at.map(|offset| (offset, u32::try_from(offset).unwrap_or(u32::MAX))) {
            Some((offset, short)) if short != u32::MAX => {
                let (head, tail) = draft.bytes.split_at(offset.min(draft.bytes.len()));
                Entry::stored(splice(head, modified, tail), created, modified, Hole::at(short, modified))
            }
            _ => Entry::stored(draft.bytes.clone(), created, modified, Hole::NONE),
        }
    }

    /// This value as it was last seen when it was deleted at `revision`.
    pub(crate) fn deleted_at(&self, revision: Revision) -> Self {
        let bytes = &self.0.bytes;
        match self.0.hole.offset() {
            None => Entry::stored(bytes.clone(), self.0.created, revision, Hole::NONE),
            Some(offset) => {
                let end = (offset + usize::from(self.0.hole.digits)).min(bytes.len());
                let spliced = splice(&bytes[..offset.min(end)], revision, &bytes[end..]);
                Entry::stored(spliced, self.0.created, revision, Hole::at(self.0.hole.offset, revision))
            }
        }
    }

    pub(crate) fn stored(bytes: Bytes, created: Revision, modified: Revision, hole: Hole) -> Self {
        Entry(Arc::new(Stored { bytes, created, modified, hole, memos: Memos::default() }))
    }

    pub(crate) fn hole(&self) -> Hole {
        self.0.hole
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Entry")
            .field("created", &self.0.created)
            .field("modified", &self.0.modified)
            .field("bytes", &self.0.bytes)
            .finish()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
            || (self.0.modified, self.0.created, &self.0.bytes)
                == (other.0.modified, other.0.created, &other.0.bytes)
    }
}

impl Eq for Entry {}

fn digits(revision: Revision) -> u8 {
    revision.get().checked_ilog10().map_or(1, |log| log as u8 + 1)
}

fn splice(head: &[u8], revision: Revision, tail: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(head.len() + usize::from(digits(revision)) + tail.len());
    bytes.extend_from_slice(head);
    // Writing into a vector cannot fail.
    let _ = write!(bytes, "{revision}");
    bytes.extend_from_slice(tail);
    bytes.into()
}

#[cfg(test)]
mod tests;
