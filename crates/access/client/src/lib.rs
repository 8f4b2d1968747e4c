//! How parts of Kedge use the API: as clients like any other, over HTTPS or inside the process, and through `World`, the
//! shared watched cache. Knows no kind's rules and no way into the store; typed access is `kube::Api`.

mod transport;
pub mod world;

pub use kube::Client;
pub use transport::{ConnectError, https, in_process};
pub use world::{Cache, Key, Listener, NotReady, Revision, Seen, Until, Wait, Watched, World};
