//! Services on this node: carried by the kernel, by rules of our own, whoever connects the pods.

use kedge_client::World;
use kedge_network::Network;

use crate::traffic::Ground;

/// Carries them for as long as it is let; the kernel carries them on after that.
pub(crate) async fn run(ground: &Ground, world: World) {
    let settings = kedge_proxy::Settings {
        table: format!("{}-services", Network::name(&ground.data, &ground.node)),
        node: ground.node.clone(),
        cluster: ground.cluster.pods.clone(),
    };
    kedge_proxy::run_counted(settings, world, ground.clock.clone(), ground.carried.clone()).await;
}
