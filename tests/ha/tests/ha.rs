//! Three servers on an etcd of three members, all real, on loopback. Any one of them is killed; clients that know all servers go on,
//! another server takes the work over in time, and nothing is done twice.

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

    let leader = cluster.leader();
    cluster.until_listed(leader);
    let begun = Instant::now();
    cluster.kill_server(leader);
    cluster.scale(5).await;
    cluster.until_pods(5, TAKEN_OVER.saturating_sub(begun.elapsed())).await;
    eprintln!("another server led {:?} after the leader was killed", begun.elapsed());
    assert_ne!(cluster.leader(), leader, "the one that was killed leads no more");
    cluster.assert_tokens_are_listed_by(leader);

    cluster.start_server(leader).await;
    let follower = (0..3).find(|one| *one != cluster.leader() && *one != leader).unwrap();
    cluster.kill_server(follower);
    cluster.scale(6).await;
    cluster.until_pods(6, Duration::from_secs(10)).await;
    cluster.start_server(follower).await;

    eprintln!("a server is back");
    let member = cluster.etcd.leader();
    let begun = Instant::now();
    cluster.etcd.kill(member);
    cluster.scale(7).await;
    cluster.until_pods(7, Duration::from_secs(20)).await;
    eprintln!("work went on {:?} after etcd's leader was killed", begun.elapsed());
    cluster.etcd.start_again(member);

    cluster.until_agreed().await;
    let written = writer.stop().await;
    eprintln!("{} writes, the longest took {:?}", written.names.len(), written.longest);
    cluster.assert_has(&written.names).await;
    assert!(written.longest < TAKEN_OVER, "a client had to wait {:?}", written.longest);
    cluster.assert_nothing_twice(7).await;
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
