//! Makes what containers find at a path: empty folders, folders of the node, files with given content. Knows volumes by what is
//! in them, not by the objects that they come from; never heard of the API server. Walk: `node/agent` drives it.

mod host;
mod mounts;
mod tree;
mod volume;

pub use mounts::{MountError, Mounts};
pub use volume::{Content, HostKind, Medium, Volume};
