//! The server is killed while kubectl writes. What it had acknowledged must be there afterwards.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::cluster::Cluster;

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let mut cluster = Cluster::start();
    cluster.kubectl(["create", "deployment", "web", "--image=registry.example/web:1"]);
    cluster.kubectl(["scale", "deployment", "web", "--replicas=4"]);
    cluster.kubectl(["create", "configmap", "gone"]);
    cluster.kubectl(["delete", "configmap", "gone"]);
    let before = cluster.object("deployment", "web");

    let mut acknowledged = Vec::new();
    for round in 0..3 {
        acknowledged.extend(written_until_killed(&mut cluster, round));
        cluster.start_again();
        let there = cluster.kubectl(["get", "configmaps", "--output=json"]);
        let there: Value = serde_json::from_str(&there).unwrap();
        let there: Vec<&str> = there["items"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["metadata"]["name"].as_str())
            .collect();
        for name in &acknowledged {
            assert!(
                there.contains(&name.as_str()),
                "{name} was acknowledged before round {round}'s kill and is lost"
            );
        }
        assert!(!there.contains(&"gone"), "an acknowledged deletion came undone");
    }
    assert_eq!(cluster.object("deployment", "web"), before, "untouched objects are as they were");
    let latest =
        cluster.kubectl(["create", "configmap", "after", "--output=jsonpath={.metadata.resourceVersion}"]);
    let old = before["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(
        latest.parse::<u64>().unwrap() > old + acknowledged.len() as u64 - 1,
        "revisions go on where they were"
    );
}

/// Streams objects through one kubectl and kills the server after some of them were acknowledged.
/// Returns the names of all that were.
fn written_until_killed(cluster: &mut Cluster, round: usize) -> Vec<String> {
    const OFFERED: usize = 500;
    const ENOUGH: usize = 20;
    let mut manifests = String::new();
    for number in 0..OFFERED {
        write!(manifests, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: round-{round}-{number}}}\ndata: {{n: \"{number}\"}}\n")
            .unwrap();
    }
    let mut kubectl = cluster
        .command(["create", "--filename=-", "--output=name"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = kubectl.stdin.take().unwrap();
    let feeding = std::thread::spawn(move || {
        // kubectl stops reading when the server is gone.
        let _broken_pipe = input.write_all(manifests.as_bytes());
    });
    let mut acknowledged = Vec::new();
    for line in BufReader::new(kubectl.stdout.take().unwrap()).lines().map_while(Result::ok) {
        acknowledged.extend(line.strip_prefix("configmap/").map(str::to_owned));
        if acknowledged.len() == ENOUGH {
            cluster.kill();
            // It would try the rest in vain; what it has printed by now can still be read.
            kubectl.kill().unwrap();
        }
    }
    feeding.join().unwrap();
    kubectl.wait().unwrap();
    assert!(acknowledged.len() >= ENOUGH, "only {} written", acknowledged.len());
    assert!(acknowledged.len() < OFFERED, "the kill came too late to be in the middle");
    acknowledged
}
