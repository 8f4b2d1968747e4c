//! Wires pods to a node: a bridge, a wire and addresses for each of them, the way out, doors on the node's own ports, and the ways
//! to pods of other nodes.
//! Speaks CNI with whoever runs containers; never heard of pods' objects or of the API server. Walk: `node/agent` says which
//! ranges are the node's, the runtime then calls for each sandbox.

mod attach;
mod bridge;
pub mod cni;
mod doors;
mod error;
mod filter;
mod former;
mod leftovers;
mod network;
mod others;
mod owner;
mod pace;
mod records;
mod ways;
mod wire;

pub use bridge::{is_prepared, outward_mtu, prepare};
pub use error::NetworkError;
pub use former::{give_back, remember};
pub use kedge_netlink::monitor::{Change, Monitor};
pub use kedge_range::{BadRange, Range};
pub use leftovers::{reap, remove};
pub use network::{CONFIG_FILE, Network};
pub use others::{Other, others};
pub use ways::{Backend, BadBackend, Between, Member, Tended, USUAL_PORT, concerns, tend};
