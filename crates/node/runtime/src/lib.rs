//! Runs containers: any runtime that speaks CRI over a socket, and a private containerd for whoever brings none. Knows
//! sandboxes and containers, not pods; never heard of the API server. Walk: `node/agent` drives it.

mod client;
pub mod containerd;
mod error;
mod streaming;
pub mod wire;

pub use client::{Runtime, Told};
pub use error::RuntimeError;
