//! What a volume is.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// An empty folder that lives as long as the pod.
    Empty { medium: Medium },
    /// A place on the node.
    Host { path: PathBuf, kind: HostKind },
    /// Files with given content, changed all at once.
    Files { files: Vec<Content> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Disk,
    /// With a limit in bytes, where there is one.
    Memory {
        limit: Option<u64>,
    },
}

/// What has to be at a place on the node, or is made there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    Any,
    Folder,
    FolderOrNew,
    File,
    FileOrNew,
    Socket,
    CharDevice,
    BlockDevice,
}

/// One file. Its content may be a secret, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    /// Below the volume; never upwards.
    pub path: String,
    pub mode: u32,
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:o}, {} bytes)", self.path, self.mode, self.bytes.len())
    }
}
