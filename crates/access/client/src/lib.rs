//! How parts of Kedge use the API: as clients like any other, over HTTPS or inside the process, and through `World`, the
//! shared watched cache. Knows no kind's rules and no way into the store; typed access is `Objects`.

mod apply;
mod objects;
mod proxies;
#[cfg(test)]
mod scripted;
mod servers;
mod transport;
mod wire;
pub mod world;

pub use apply::apply;
pub use kube::Client;
pub use objects::{Event, Events, Objects};
#[doc(hidden)]
pub use serde_json::Error as JsonError;
pub use servers::{Place, Servers, Ties, TiesError};
pub use transport::{ConnectError, connect, https, in_process};
pub use wire::{FrameError, WatchError};
pub use world::{Cache, Key, Listener, NotReady, Revision, Seen, Until, Wait, Watched, World, Written};
#[doc(hidden)]
pub use world::{read, write};

/// The members of a JSON object.
pub type Fields = serde_json::Map<String, serde_json::Value>;
