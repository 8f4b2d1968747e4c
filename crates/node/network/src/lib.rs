//! Wires pods to a node: a bridge, a wire and addresses for each of them, the way out, and doors on the node's own ports.
//! Speaks CNI with whoever runs containers; never heard of pods' objects or of the API server. Walk: `node/agent` says which
//! ranges are the node's, the runtime then calls for each sandbox.

mod attach;
mod bridge;
pub mod cni;
mod doors;
mod error;
mod filter;
mod leftovers;
mod network;
mod owner;
mod range;
mod records;

pub use bridge::{outward_mtu, prepare};
pub use error::NetworkError;
pub use leftovers::{reap, remove};
pub use network::{CONFIG_FILE, Network};
pub use range::{BadRange, Range};
