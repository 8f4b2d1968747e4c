//! Everything that can go wrong in a store, said once. Gives none of it an HTTP meaning.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::{Expect, Key, Revision};

/// Cheap to clone, because one failed sync is the answer to every write that waited for it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{key} is at {}, expected {expected}", found_text(.found))]
    Conflict { key: Key, expected: Expect, found: Option<Revision> },
    #[error("revision {asked} has been compacted: the oldest that can be continued from is {oldest}")]
    Compacted { asked: Revision, oldest: Revision },
    #[error("revision {asked} has not happened yet: the newest is {newest}")]
    Future { asked: Revision, newest: Revision },
    #[error("a transaction writes {key} twice")]
    Twice { key: Key },
    #[error("the revision of {key} should go to offset {offset} of only {len} bytes")]
    Hole { key: Key, offset: usize, len: usize },
    #[error("a transaction of {size} bytes is too large: the limit is {limit}")]
    TooLarge { size: usize, limit: usize },
    #[error("cannot append to {log}")]
    Append { log: PathBuf, source: Arc<io::Error> },
    #[error("cannot sync {log}: nothing more is written until a restart")]
    Sync { log: PathBuf, source: Arc<io::Error> },
    /// Room on the disk, or for the moment files or memory; the source says which.
    #[error("no room to go on after {log}: nothing was written")]
    Full { log: PathBuf, source: Arc<io::Error> },
    #[error("{file} is damaged at byte {offset}: {why}")]
    Corrupt { file: PathBuf, offset: u64, why: Damage },
    #[error("{file} holds encrypted values, and the key for them is missing")]
    NoKey { file: PathBuf },
    #[error("cannot {attempt} {path}")]
    File { attempt: Attempt, path: PathBuf, source: Arc<io::Error> },
    #[error("{dir} is in use by another process")]
    Locked { dir: PathBuf },
    #[error("{dir} is not empty: a backup is restored only into a new folder")]
    NotEmpty { dir: PathBuf },
    #[error("the store has stopped: {why}")]
    Stopped { why: Stop },
    #[error("etcd could not {attempt}: {}", .source.message())]
    Etcd { attempt: EtcdAttempt, source: Box<tonic::Status> },
    #[error("cannot use the etcd endpoint {endpoint}")]
    Endpoint { endpoint: String, source: Arc<tonic::transport::Error> },
    #[error("the value of {key} in etcd was not written by this store")]
    Foreign { key: Key },
    #[error("the value of {key} in etcd cannot be read: {why}")]
    Shut { key: Key, why: Damage },
    #[error("the value of {key} cannot be encrypted, so it is not written")]
    Unsealable { key: Key },
}

impl StoreError {
    pub(crate) fn corrupt(file: PathBuf, offset: u64, why: Damage) -> Self {
        match why {
            Damage::NoKey => StoreError::NoKey { file },
            why => StoreError::Corrupt { file, offset, why },
        }
    }
}

/// What was attempted on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Create,
    Open,
    Read,
    Write,
    Sync,
    Rename,
    Remove,
    List,
}

/// How a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    Header,
    Version,
    Checksum,
    Order,
    Truncated,
    Missing,
    Alone,
    Meaning,
    NoKey,
    Sealed,
}

/// Why a store takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Closed,
    Died,
}

/// What was asked of etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EtcdAttempt {
    Connect,
    Commit,
    Read,
    Watch,
    Compact,
    CatchUp,
}

fn found_text(found: &Option<Revision>) -> String {
    found.map_or_else(|| "no revision".to_owned(), |revision| format!("revision {revision}"))
}

macro_rules! say {
    ($kind:ty { $($variant:ident => $text:literal),+ $(,)? }) => {
        impl std::fmt::Display for $kind {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(match self { $(Self::$variant => $text),+ })
            }
        }
    };
}

say!(Attempt {
    Create => "create", Open => "open", Read => "read", Write => "write", Sync => "sync",
    Rename => "rename", Remove => "remove", List => "list",
});
say!(Damage {
    Header => "this is not a header of ours",
    Version => "it was written by a newer version",
    Checksum => "the checksum does not match, and valid records follow",
    Order => "revisions go back",
    Truncated => "it ends too early",
    Missing => "a part of the log before it is missing",
    Alone => "the whole log that belongs to it is missing; restore a backup or bring the files back",
    Meaning => "a record cannot be understood",
    NoKey => "a value in it is encrypted, and the key for it is missing",
    Sealed => "an encrypted value in it was changed, or stands in another's place",
});
say!(Stop { Closed => "it was closed", Died => "its writer thread ended" });
say!(EtcdAttempt {
    Connect => "be reached", Commit => "commit", Read => "read", Watch => "watch", Compact => "compact",
    CatchUp => "bring the local mirror up to date",
});
