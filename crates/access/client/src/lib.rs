//! How parts of Kedge use the API: as clients like any other, over HTTPS or inside the process, and through `World`, the
//! shared watched cache. Knows no kind's rules and no way into the store; typed access is `kube::Api`.

mod apply;
mod servers;
mod transport;
pub mod world;

pub use apply::apply;
pub use kube::Client;
#[doc(hidden)]
pub use serde_json::Error as JsonError;
pub use servers::{Place, Servers, Ties, TiesError};
pub use transport::{ConnectError, https, in_process};
#[doc(hidden)]
pub use world::read;
pub use world::{Cache, Key, Listener, NotReady, Revision, Seen, Until, Wait, Watched, World};
