//! What a caller asks for: writes to several keys that happen at one revision, if what it expects still holds.

use std::fmt;

use crate::{Draft, Entry, Key, Revision};

/// What must be true of a key for a transaction to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Any,
    Absent,
    Present,
    At(Revision),
}

impl Expect {
    /// Whether it holds for a key last modified at `found`.
    pub fn holds(self, found: Option<Revision>) -> bool {
        match self {
            Expect::Any => true,
            Expect::Absent => found.is_none(),
            Expect::Present => found.is_some(),
            Expect::At(revision) => found == Some(revision),
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expect::Any => out.write_str("anything"),
            Expect::Absent => out.write_str("nothing"),
            Expect::Present => out.write_str("any revision"),
            Expect::At(revision) => write!(out, "revision {revision}"),
        }
    }
}

/// What happens to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Put(Draft),
    Delete,
    /// Nothing: only the expectation counts.
    Check,
}

/// Writes that happen together at one revision, or not at all. Every expectation is about the state before all of
/// them. A key may be put or deleted only once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    pub(crate) ops: Vec<Op>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) key: Key,
    pub(crate) expect: Expect,
    pub(crate) write: Write,
}

impl Txn {
    pub fn new() -> Self {
        Txn::default()
    }

    #[must_use]
    pub fn put(self, key: impl Into<Key>, expect: Expect, draft: Draft) -> Self {
        self.op(key, expect, Write::Put(draft))
    }

    #[must_use]
    pub fn delete(self, key: impl Into<Key>, expect: Expect) -> Self {
        self.op(key, expect, Write::Delete)
    }

    #[must_use]
    pub fn check(self, key: impl Into<Key>, expect: Expect) -> Self {
        self.op(key, expect, Write::Check)
    }

    #[must_use]
    pub fn op(mut self, key: impl Into<Key>, expect: Expect, write: Write) -> Self {
        self.ops.push(Op { key: key.into(), expect, write });
        self
    }

    /// This one's operations, then the other's, as one.
    #[must_use]
    pub fn then(mut self, other: Txn) -> Self {
        self.ops.extend(other.ops);
        self
    }

    pub fn len(&self) -> usize {
        self.ops.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }
}

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The revision of its writes; if it changed nothing, the newest revision of the store at that moment.
    pub revision: Revision,
    /// For each operation in order: the entry put; or the entry deleted, its bytes carrying the deletion's revision;
    /// or none for a check and for the deletion of a key that was not there.
    pub entries: Vec<Option<Entry>>,
}
