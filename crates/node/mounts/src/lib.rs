//! Makes what containers find at a path: empty folders, folders of the node, files with given content. Knows volumes by what is
//! in them, not by the objects that they come from; never heard of the API server. Walk: `node/agent` drives it.

mod group;
mod host;
mod layers;
mod mounts;
mod nfs;
mod readonly;
mod sub;
mod table;
mod tree;
mod volume;

pub use mounts::{MountError, Mounts};
pub use table::{clear_below, is_there};
pub use volume::{Content, Files, Group, HostKind, Medium, Nfs, Sub, Volume};
