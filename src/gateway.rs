//! The gateway of this server, and what it says about the objects that it serves. It runs beside the API, whether or not this machine
//! is a node.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use kedge_client::World;
use kedge_clock::Clock;
use kedge_engine::Engine;
use kedge_gateway::Own;
use kedge_http::Router;
use kedge_pki::{Authority, Leaf, Names, PkiError, Purpose, Serving};
use kedge_registry::User;
use tokio::sync::watch;

use crate::settings::Settings;
use crate::{bundled, control};

pub(crate) const HTTP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 80);
pub(crate) const HTTPS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 443);

/// Where the gateway of a server is to listen.
pub(crate) fn places(settings: &Settings) -> Vec<SocketAddr> {
    if settings.no_gateway == Some(true) {
        return Vec::new();
    }
    vec![settings.gateway_http.unwrap_or(HTTP), settings.gateway_https.unwrap_or(HTTPS)]
}

/// What it is run with.
pub(crate) struct Door {
    pub(crate) router: Router,
    pub(crate) settings: Settings,
    pub(crate) authority: Arc<Authority>,
    /// Where keys and certificates are.
    pub(crate) pki: PathBuf,
    /// Where this machine is reached.
    pub(crate) addresses: Vec<IpAddr>,
    /// Of servers that share a store, the one of this name writes what is said about objects while it leads.
    pub(crate) me: Option<String>,
    /// Ports of this machine that pods have.
    pub(crate) taken: watch::Receiver<BTreeSet<u16>>,
    pub(crate) clock: Clock,
}

/// Runs it until the task is ended. A server that is to be the API alone brings nothing of it.
pub(crate) async fn run(door: Door) {
    let serves = door.settings.no_gateway != Some(true);
    let controls = door.settings.no_controllers != Some(true);
    if !serves && !controls {
        return;
    }
    let user = User {
        name: "system:kedge-gateway".to_owned(),
        groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
        ..User::default()
    };
    let client = kedge_client::in_process(door.router.clone().acting_as(user));
    let clock = door.clock.clone();
    bundled::give(&client, &clock).await;
    // Its own world: nodes may not read what it has to.
    let world = World::new(client.clone(), clock.clone());
    let serving = async {
        if !serves {
            return;
        }
        match certificate(&door) {
            Ok(certificate) => {
                let settings = kedge_gateway::Settings {
                    http: Some(door.settings.gateway_http.unwrap_or(HTTP)),
                    https: Some(door.settings.gateway_https.unwrap_or(HTTPS)),
                    taken: Some(door.taken.clone()),
                    ..kedge_gateway::Settings::new(certificate.clone())
                };
                let own = Own { node: door.settings.node.name(), addresses: door.addresses.clone() };
                let renewing = certificate.keep_fresh(&door.authority, &clock, |renewed| {
                    if let Err(error) = renewed {
                        tracing::error!(%error, "cannot renew the gateway's certificate; trying again in an hour");
                    }
                });
                let gateway = kedge_gateway::run(settings, own, world.clone(), client.clone(), clock.clone());
                tokio::join!(gateway, renewing);
            }
            Err(error) => tracing::error!("there is no gateway on this server: {error}"),
        }
    };
    let saying = async {
        if !controls {
            return;
        }
        let work = || async {
            kedge_gateway::wanted(&world).await;
            kedge_gateway::join(Engine::new(world.clone(), client.clone(), clock.clone())).run().await;
        };
        control::lead(&client, &clock, "kedge-gateway", door.me.clone(), work).await;
    };
    tokio::join!(serving, saying);
}

/// Shown for names that nobody has a certificate for.
fn certificate(door: &Door) -> Result<Arc<Serving>, PkiError> {
    let hosts =
        door.addresses.iter().map(ToString::to_string).chain(["kedge-gateway.kube-system.svc".to_owned()]);
    let names = Names { common_name: "kedge-gateway".to_owned(), organization: None, hosts: hosts.collect() };
    let leaf = Leaf::new(&door.pki, "gateway", names, Purpose::Server);
    Serving::start(leaf, &door.authority, door.clock.now())
}
