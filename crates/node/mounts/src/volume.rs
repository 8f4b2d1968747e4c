//! What a volume is.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Volume {
    /// An empty folder that lives as long as the pod.
    Empty { medium: Medium },
    /// A place on the node.
    Host { path: PathBuf, kind: HostKind },
    /// A folder of the node that is given to pods: it gets their group. One that we look after is made when it is missing.
    Local { path: PathBuf, make: bool },
    /// A folder of another machine.
    Nfs(Nfs),
    /// Files with given content, changed all at once.
    Files(Files),
    /// Folders that lie on each other, the uppermost first. Can only be read, and nothing in it be run.
    Layers(Vec<PathBuf>),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub files: Vec<Content>,
    /// Kept off the disk.
    pub in_memory: bool,
    /// Folders in which others are mounted; nobody can make them later, as containers may only read.
    pub folders: Vec<String>,
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
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Content {
    /// Below the volume; never upwards.
    pub path: String,
    pub mode: u32,
    pub bytes: Vec<u8>,
    /// Whose it is, where it isn't root's.
    pub owner: Option<u32>,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:o}, {} bytes)", self.path, self.mode, self.bytes.len())
    }
}

/// The group that a pod's processes share its volumes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub id: u32,
    /// What is inside is not looked at if the volume's root is right already.
    pub trust_root: bool,
}

/// A folder of another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nfs {
    pub server: String,
    pub path: String,
    pub read_only: bool,
    pub options: Vec<String>,
}

/// A place below a volume that one mount of one container wants.
#[derive(Clone, Copy, Debug)]
pub struct Sub<'a> {
    pub volume: &'a str,
    pub container: &'a str,
    /// Which of the container's mounts it is.
    pub index: usize,
    /// Never upwards.
    pub path: &'a str,
}
