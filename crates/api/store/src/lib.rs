//! Revisions, a durable log, O(1) snapshots and watches: bytes in, bytes out.
//! Knows no kind, no JSON and no HTTP. Walk: step 4. Before it `api/registry`, after it whoever watches.
//!
//! A [`Store`] is one ordered map from [`Key`] to [`Entry`] with one global counter, the [`Revision`]. A write is a
//! [`Txn`]: all of it happens at one revision or nothing does. It is visible and acknowledged only once it is durable.

mod apply;
mod backup;
mod disk;
mod embedded;
mod entry;
mod error;
mod etcd;
mod format;
mod key;
mod memory;
mod revision;
mod seal;
mod snapshot;
mod stats;
mod store;
mod txn;
mod watch;

pub use backup::Backup;
pub use disk::{Disk, DiskFile, OsDisk};
pub use embedded::Options;
pub use entry::{Draft, Entry};
pub use error::{Attempt, Damage, EtcdAttempt, Stop, StoreError};
pub use etcd::{EtcdOptions, EtcdTls};
pub use key::Key;
pub use revision::{BadRevision, Revision};
pub use seal::{Seal, Unopened};
pub use snapshot::Snapshot;
pub use stats::Stats;
pub use store::Store;
pub use txn::{Committed, Expect, Txn, Write};
pub use watch::{Change, Event, Limits, Watch, WatchEnd};
