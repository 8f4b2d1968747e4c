//! The gateway: an HTTP(S) reverse proxy on every server node, for Ingresses and DNSRecords. Compiles objects to a table of routes
//! (pure), then serves the table. Knows no name server and no kernel rule; requests go straight to pods.

mod body;
mod certificates;
mod claims;
mod class;
mod control;
mod front;
mod headers;
mod hosts_file;
mod keep;
mod names;
mod own;
mod page;
mod patience;
mod plain;
mod record;
mod resumed;
mod routes;
mod secret;
mod serve;
mod stall;
mod upstream;

use std::sync::Arc;

use arc_swap::ArcSwap;
use kedge_client::{Client, World};
use kedge_clock::Clock;

pub use class::{CLASS, CONTROLLER};
pub use control::join;
pub use front::{Front, OpenError, Settings};
pub use hosts_file::{HostsError, HostsFile};
pub use keep::{keep, wanted};
pub use names::{Names, follow};
pub use own::Own;
pub use plain::passed_plainly;
pub use record::DnsRecord;
pub use routes::Routes;
pub use secret::TlsSecret;
pub use upstream::{End, Heard, hear};

/// The kinds that this crate brings.
pub const MANIFESTS: &[&str] = &[include_str!("../manifests/dnsrecords.yaml")];

/// Serves the cluster's Ingresses and DNSRecords at the ports that can be had, until the task is ended.
pub async fn run(settings: Settings, own: Own, world: World, client: Client, clock: Clock) {
    let routes = Arc::new(ArcSwap::from_pointee(Routes::default()));
    let front = match Front::open(settings, routes.clone()) {
        Ok(front) => front,
        Err(error) => {
            tracing::error!("there is no gateway on this server: {error}");
            return;
        }
    };
    for refused in &front.refused {
        let cause = std::error::Error::source(refused).map(ToString::to_string).unwrap_or_default();
        tracing::warn!(
            "the gateway: {refused}: {cause}; it goes on trying: end whoever has it (`ss -lntp` says who), or choose another with \
             --gateway-http or --gateway-https, or --no-gateway"
        );
    }
    let open = front.listening();
    let shown =
        |at: Option<std::net::SocketAddr>| at.map_or_else(|| "nowhere yet".to_owned(), |at| at.to_string());
    tracing::info!(
        "the gateway serves HTTP at {} and HTTPS at {}",
        shown(front.http()),
        shown(front.https())
    );
    let serving = async {
        if let Err(error) = front.serve().await {
            tracing::error!("the gateway does not serve: {error}");
        }
    };
    let keeping = keep(world.clone(), clock.clone(), routes);
    tokio::join!(serving, keeping, own::keep(own, open, world.clone(), client, clock.clone()));
}
