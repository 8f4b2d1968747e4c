//! What carries traffic on this node, beside its pods: each part watches the same few facts of the cluster and does its own work.
//! What they told the kernel stays when they end.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kedge_client::{Client, World};
use kedge_clock::Clock;
use kedge_facts::{Namespace, Node, Pod, Service, Slice};
use kedge_network::Member;
use kedge_policy::Arrivals;
use tokio::sync::watch;

use crate::cluster::Cluster;
use crate::settings::{NodeSettings, Settings};
use crate::{aside, hosts, names, policy, services, ways};

/// What all parts stand on.
pub(crate) struct Ground {
    /// What this machine is called in the cluster.
    pub(crate) node: String,
    /// The node's data folder, absolute.
    pub(crate) data: PathBuf,
    /// What all nodes know alike.
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    /// Where pods' addresses are told, if policies are enforced here.
    pub(crate) arrivals: Option<Arrivals>,
    /// Where the network of pods hears of all nodes.
    pub(crate) members: watch::Sender<Option<Vec<Member>>>,
    /// Where carrying Services is counted.
    pub(crate) carried: kedge_proxy::Figures,
    /// Where it is told which ports of this machine pods have.
    pub(crate) taken: watch::Sender<BTreeSet<u16>>,
}

impl Ground {
    /// One world for all of them.
    pub(crate) fn world(&self) -> World {
        let world = World::new(self.client.clone(), self.clock.clone());
        world.watch::<Service>().watch::<Slice>().watch::<Pod>().watch::<Namespace>().watch::<Node>();
        world
    }
}

/// Runs all parts until the task is ended. Some only run where there is a server, whose settings they go by.
pub(crate) async fn run(ground: &Ground, settings: &NodeSettings, server: Option<&Settings>) {
    let world = ground.world();
    let (node, data, ranges) = (&ground.node, ground.data.display(), &ground.cluster.services);
    tracing::debug!(server = server.is_some(), ?ranges, "{node} carries traffic below {data}: {settings:?}");
    let hosts = kedge_dns::Hosts::default();
    let names = names::run(ground, settings, world.clone(), hosts.clone());
    let records = hosts::run(ground, settings, world.clone(), hosts);
    let services = async {
        if settings.no_proxy != Some(true) {
            services::run(ground, world.clone()).await;
        }
    };
    let policies = async {
        if let Some(arrivals) = &ground.arrivals {
            policy::run(ground, &world, arrivals).await;
        }
    };
    tokio::join!(
        services,
        policies,
        names,
        records,
        ways::tell(&world, &ground.members),
        aside::tell(&world, &ground.node, &ground.taken),
        std::future::pending::<()>()
    );
}
