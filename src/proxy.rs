//! Carries Services alone, on a node that somebody else runs, for any Kubernetes API. Knows no pod and makes no network.

use std::path::Path;

use kedge_client::World;
use kedge_clock::Clock;
use kedge_network::Network;
use kedge_proxy::{Range, Settings};

use crate::control::{self, ControlError};
use crate::network::host_name;

/// Carries them until the task is ended; the kernel carries them on after that.
pub(crate) async fn alone(
    kubeconfig: &Path,
    node: Option<String>,
    cluster: Vec<Range>,
) -> Result<(), ControlError> {
    let (client, clock) = (control::remote(kubeconfig).await?, Clock::system());
    let node = named(node);
    let settings = Settings { table: table(&node), node, cluster };
    kedge_proxy::run(settings, World::new(client, clock.clone()), clock).await;
    Ok(())
}

/// Takes the rules out of the kernel.
pub(crate) fn clean(node: Option<String>) -> Result<(), kedge_netlink::NetlinkError> {
    kedge_proxy::remove(&table(&named(node)))
}

fn named(node: Option<String>) -> String {
    node.or_else(host_name).unwrap_or_default()
}

/// It has no data folder: unlike the table of every node that has one.
fn table(node: &str) -> String {
    format!("{}-services", Network::name(Path::new(""), node))
}
