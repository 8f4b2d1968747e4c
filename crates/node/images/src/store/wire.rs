//! The messages of containerd's own interface, as far as we use them: names and numbers are the interface's.

use std::collections::HashMap;

use bytes::Bytes;

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct Nothing {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct InfoQuestion {
    #[prost(string, tag = "1")]
    pub(super) digest: String,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct InfoAnswer {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub(super) enum Action {
    Stat = 0,
    Write = 1,
    Commit = 2,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct WriteQuestion {
    #[prost(enumeration = "Action", tag = "1")]
    pub(super) action: i32,
    #[prost(string, tag = "2")]
    pub(super) reference: String,
    #[prost(int64, tag = "3")]
    pub(super) total: i64,
    #[prost(string, tag = "4")]
    pub(super) expected: String,
    #[prost(int64, tag = "5")]
    pub(super) offset: i64,
    #[prost(bytes = "bytes", tag = "6")]
    pub(super) data: Bytes,
    #[prost(map = "string, string", tag = "7")]
    pub(super) labels: HashMap<String, String>,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct WriteAnswer {
    #[prost(enumeration = "Action", tag = "1")]
    pub(super) action: i32,
    #[prost(int64, tag = "4")]
    pub(super) offset: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Descriptor {
    #[prost(string, tag = "1")]
    pub(super) media_type: String,
    #[prost(string, tag = "2")]
    pub(super) digest: String,
    #[prost(int64, tag = "3")]
    pub(super) size: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Record {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(map = "string, string", tag = "2")]
    pub(super) labels: HashMap<String, String>,
    #[prost(message, optional, tag = "3")]
    pub(super) target: Option<Descriptor>,
}

/// What making and changing an image's record take.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RecordChange {
    #[prost(message, optional, tag = "1")]
    pub(super) image: Option<Record>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct RecordAnswer {
    #[prost(message, optional, tag = "1")]
    pub(super) image: Option<Record>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct CreateLease {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(map = "string, string", tag = "3")]
    pub(super) labels: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Delete {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    /// Whether to answer only when everything is gone.
    #[prost(bool, tag = "2")]
    pub(super) wait: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct UnderWayQuestion {
    #[prost(string, repeated, tag = "1")]
    pub(super) filters: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct UnderWayAnswer {
    #[prost(message, repeated, tag = "1")]
    pub(super) statuses: Vec<WriteStatus>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct WriteStatus {
    #[prost(int64, tag = "4")]
    pub(super) offset: i64,
    #[prost(int64, tag = "5")]
    pub(super) total: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct GetRecord {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ReadQuestion {
    #[prost(string, tag = "1")]
    pub(super) digest: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ReadAnswer {
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) data: Bytes,
}

/// Something that the kernel mounts, as `fstab` has it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Mount {
    #[prost(string, tag = "1")]
    pub(super) kind: String,
    #[prost(string, tag = "2")]
    pub(super) source: String,
    #[prost(string, tag = "3")]
    pub(super) target: String,
    #[prost(string, repeated, tag = "4")]
    pub(super) options: Vec<String>,
}

/// What making a snapshot takes, to write or to read.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct NewSnapshot {
    #[prost(string, tag = "1")]
    pub(super) snapshotter: String,
    #[prost(string, tag = "2")]
    pub(super) key: String,
    #[prost(string, tag = "3")]
    pub(super) parent: String,
    #[prost(map = "string, string", tag = "4")]
    pub(super) labels: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Snapshot {
    #[prost(string, tag = "1")]
    pub(super) snapshotter: String,
    #[prost(string, tag = "2")]
    pub(super) key: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct MountsAnswer {
    #[prost(message, repeated, tag = "1")]
    pub(super) mounts: Vec<Mount>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct CommitSnapshot {
    #[prost(string, tag = "1")]
    pub(super) snapshotter: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(string, tag = "3")]
    pub(super) key: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ListSnapshots {
    #[prost(string, tag = "1")]
    pub(super) snapshotter: String,
    #[prost(string, repeated, tag = "2")]
    pub(super) filters: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SnapshotsAnswer {
    #[prost(message, repeated, tag = "1")]
    pub(super) snapshots: Vec<SnapshotInfo>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SnapshotInfo {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct ApplyQuestion {
    #[prost(message, optional, tag = "1")]
    pub(super) layer: Option<Descriptor>,
    #[prost(message, repeated, tag = "2")]
    pub(super) mounts: Vec<Mount>,
}
