//! What carries traffic on this node, beside its pods: each part watches the same few facts of the cluster and does its own work.
//! What they told the kernel stays when they end.

use std::path::PathBuf;

use kedge_client::{Client, World};
use kedge_clock::Clock;
use kedge_facts::{Namespace, Node, Pod, Service, Slice};

use crate::settings::Settings;

/// What all parts stand on.
pub(crate) struct Ground {
    /// What this machine is called in the cluster.
    pub(crate) node: String,
    /// The node's data folder, absolute.
    pub(crate) data: PathBuf,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
}

impl Ground {
    /// One world for all of them.
    pub(crate) fn world(&self) -> World {
        let world = World::new(self.client.clone(), self.clock.clone());
        world.watch::<Service>().watch::<Slice>().watch::<Pod>().watch::<Namespace>().watch::<Node>();
        world
    }
}

/// Runs all parts until the task is ended.
pub(crate) async fn run(ground: &Ground, settings: &Settings) {
    let world = ground.world();
    world.ready().await;
    tracing::debug!("{} carries traffic below {}, as told: {settings:?}", ground.node, ground.data.display());
    std::future::pending().await
}
