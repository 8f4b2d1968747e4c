//! Images on this node without a registry: made from files, read from an archive, put into containerd's store, laid out as
//! folders to read. Knows blobs and names; never heard of pods or of the API server. Walk: `node/agent` drives it.

mod archive;
mod build;
mod digest;
mod keyring;
mod manifest;
mod pause;
mod reference;
mod registries;
mod store;

pub use archive::{Archive, ArchiveError};
pub use build::{File, build};
pub use digest::Digest;
pub use keyring::{Credentials, Keyring, KeyringError};
pub use manifest::{Blob, Image};
pub use pause::{PAUSE_IMAGE, pause};
pub use reference::{Reference, ReferenceError};
pub use registries::{Registries, RegistriesError};
pub use store::{ImportError, Store, ViewError};
