//! Three servers on an etcd of three members, all real, on loopback. Each of them is killed in turn; clients that know all servers, as the
//! kubeconfig lists them, go on, another server takes the work over in time, and nothing is done twice. A node with real containers goes on
//! at the next server; what it runs runs on. Needs root, containerd, runc, a static busybox and etcd.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests fail like tests"
)]

#[path = "ha/cluster.rs"]
mod cluster;
#[path = "ha/etcd.rs"]
mod etcd;
#[path = "ha/node.rs"]
mod node;
#[path = "ha/writer.rs"]
mod writer;

use std::time::{Duration, Instant};

use cluster::Cluster;
use serde_json::json;
use writer::Writer;

/// What is promised.
const TAKEN_OVER: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread")]
async fn any_one_may_die() {
    let mut cluster = Cluster::start().await;
    let writer = Writer::start(cluster.client.clone());
    cluster.create("/apis/apps/v1/namespaces/default/deployments", &web(3)).await;
    cluster.until_pods(3, Duration::from_secs(60)).await;
    let node = cluster.node().await;
    let resident = node.runs(&cluster, "resident").await;

    let mut pods = 3;
    let mut spared = vec![0, 1, 2];
    while !spared.is_empty() {
        // The one that works first, since all others may be asked to take over then; the rest as it comes.
        let leader = cluster.leader();
        let at = spared.iter().position(|one| (*one == leader) == (pods == 3)).unwrap_or_default();
        let server = spared.remove(at);
        cluster.until_listed(server);
        let begun = Instant::now();
        cluster.kill_server(server);
        pods += 1;
        cluster.scale(pods).await;
        cluster.until_pods(pods, TAKEN_OVER.saturating_sub(begun.elapsed())).await;
        let led = if server == leader { "which led" } else { "which did not lead" };
        eprintln!("work went on {:?} after server {server}, {led}, was killed", begun.elapsed());
        assert_ne!(cluster.leader(), server, "the one that was killed leads no more");
        // Whichever of them the node asked, it goes on with the others.
        node.runs(&cluster, &format!("without-{server}")).await;
        cluster.assert_tokens_are_listed_by(server);
        cluster.start_server(server).await;
    }

    let first = cluster.etcd.leader();
    for member in [first, (first + 1) % 3, (first + 2) % 3] {
        let led = cluster.etcd.leader() == member;
        let begun = Instant::now();
        cluster.etcd.kill(member);
        pods += 1;
        cluster.scale(pods).await;
        cluster.until_pods(pods, Duration::from_secs(20)).await;
        let led = if led { "which led" } else { "which did not lead" };
        eprintln!("work went on {:?} after member {member} of etcd, {led}, was killed", begun.elapsed());
        cluster.etcd.start_again(member);
    }

    let still = cluster.until_running("/api/v1/namespaces/kube-public/pods/resident", || node.log()).await;
    assert_eq!(still, resident, "what ran runs on, and was never started again");
    cluster.until_agreed().await;
    let written = writer.stop().await;
    eprintln!("{} writes, the longest took {:?}", written.names.len(), written.longest);
    cluster.assert_has(&written.names).await;
    assert!(written.longest < TAKEN_OVER, "a client had to wait {:?}", written.longest);
    cluster.assert_nothing_twice(pods).await;
}

fn web(replicas: u32) -> serde_json::Value {
    let container = json!({"name": "web", "image": "busybox:1"});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
        },
    })
}
