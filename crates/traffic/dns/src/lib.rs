//! The cluster's DNS, on every node: names of Services and pods by the Kubernetes DNS specification, host names of the gateway, and
//! everybody else's names by asking others. Compiles objects to an index and serves that; knows no rule of any kind and writes nothing.
//!
//! There is no DNS library below: an answer of ours is a few records, an answer of others passes through as octets, and what is left of
//! the protocol is a header, a question and a row of labels.

mod autopath;
mod cache;
mod dns;
mod feed;
mod hosts;
mod index;
mod memory;
mod place;
mod reverse;
mod run;
mod serve;
#[cfg(test)]
mod testing;
mod upstream;
mod vain;
pub mod wire;

pub use self::dns::{Dns, Look};
pub use self::hosts::Hosts;
pub use self::place::{PlaceError, release};
pub use self::run::{Settings, StartError, Stub, Upstreams, look, run, start};
pub use self::serve::Door;
