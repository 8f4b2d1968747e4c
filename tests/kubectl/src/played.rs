//! Nodes that are played: they register, and play the life of every pod that is bound to them, without running anything.

use kedge_client::https;
use kedge_scripted_nodes::{Machine, Nodes, Script};
use kube::config::Kubeconfig;
use tokio::runtime::{Builder, Runtime};

use crate::cluster::Cluster;

/// They live for as long as this does, beside whatever the test does.
pub(crate) struct Played {
    _nodes: Nodes,
    _runtime: Runtime,
}

impl Played {
    pub(crate) fn start(cluster: &Cluster, names: &[&str]) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let machines =
            (0..).zip(names).map(|(place, name)| Machine::new((*name).to_owned(), place)).collect();
        let nodes = runtime.block_on(async {
            let client = https(Kubeconfig::read_from(cluster.kubeconfig()).unwrap()).await.unwrap();
            let clock = kedge_clock::Clock::system();
            let now = clock.now();
            let nodes = Nodes::start(client, clock, Script::default(), machines);
            nodes.beaten_since(now).await;
            nodes
        });
        Self { _nodes: nodes, _runtime: runtime }
    }
}
