//! Images on this node without a registry: made from files, read from an archive, put into containerd's store. Knows blobs and
//! names; never heard of pods or of the API server. Walk: `node/agent` drives it.

mod archive;
mod build;
mod digest;
mod manifest;
mod pause;
mod store;

pub use archive::{Archive, ArchiveError};
pub use build::{File, build};
pub use digest::Digest;
pub use manifest::{Blob, Image};
pub use pause::{PAUSE_IMAGE, pause};
pub use store::{ImportError, Store};
