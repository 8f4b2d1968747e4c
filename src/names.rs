//! The cluster's DNS on this node: told what the cluster and this machine are like.

use std::path::{Path, PathBuf};

use kedge_client::World;
use kedge_dns::{Hosts, PlaceError, Stub, Upstreams};

use crate::settings::NodeSettings;
use crate::traffic::Ground;

const PORT: u16 = 53;
/// The node's own servers; we ask from the node's network, where one on its loopback answers.
const NODE: &str = "/etc/resolv.conf";

/// Runs it, unless the cluster has another.
pub(crate) async fn run(ground: &Ground, settings: &NodeSettings, world: World, hosts: Hosts) {
    if !ground.cluster.has_own_dns() {
        // An earlier start may have left it.
        if let Err(error) = release(&ground.data) {
            tracing::warn!("{error}");
        }
        return;
    }
    let cluster = &ground.cluster;
    let told = kedge_dns::Settings {
        zone: cluster.domain.clone(),
        addresses: cluster.dns(),
        port: PORT,
        note: note(&ground.data),
        memory: Some(ground.data.join("dns-names")),
        ranges: cluster.services.iter().chain(&cluster.pods).copied().collect(),
        upstreams: upstreams(settings),
        stubs: stubs(settings),
    };
    let look = kedge_dns::look(ground.client.clone());
    kedge_dns::run(told, world, hosts, Some(look), ground.clock.clone()).await;
}

/// Whether this machine has been a node whose DNS pods may be asking now.
pub(crate) fn was_here(data: &Path) -> bool {
    note(data).exists()
}

/// Takes its addresses from this machine.
pub(crate) fn release(data: &Path) -> Result<(), PlaceError> {
    kedge_dns::release(&note(data))
}

fn note(data: &Path) -> PathBuf {
    data.join("dns-addresses")
}

fn upstreams(settings: &NodeSettings) -> Upstreams {
    match settings.dns_upstream.as_slice() {
        [] => Upstreams::Of(settings.resolv_conf.clone().unwrap_or_else(|| NODE.into())),
        told => Upstreams::These(told.iter().map(|server| server.0).collect()),
    }
}

/// A domain that is named twice has two servers.
fn stubs(settings: &NodeSettings) -> Vec<Stub> {
    let mut stubs: Vec<Stub> = Vec::new();
    for told in &settings.dns_stub {
        match stubs.iter_mut().find(|stub| stub.domain == told.domain) {
            Some(stub) => stub.servers.push(told.server.0),
            None => stubs.push(Stub { domain: told.domain.clone(), servers: vec![told.server.0] }),
        }
    }
    stubs
}
