//! StatefulSets and DaemonSets in a whole cluster.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kedge_testkit::{Cluster, Machine};
use kube::api::PropagationPolicy;
use serde_json::json;

const DB: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  serviceName: db
  replicas: 3
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db }, annotations: { testkit.kedge.dev/start-after: \"1\" } }
    spec:
      containers: [{ name: c, image: nginx:1, volumeMounts: [{ name: data, mountPath: /data }] }]
  volumeClaimTemplates:
  - metadata: { name: data }
    spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
";

fn image(image: &str) -> serde_json::Value {
    json!({ "spec": { "template": { "spec": { "containers": [{
        "name": "c", "image": image, "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
    }] } } } })
}

#[tokio::test]
async fn pods_of_a_stateful_set_come_change_and_go_in_order() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(DB).await;
    cluster
        .until("all three run, one after the other", |c| {
            let (all, ready) = (c.pods("db").names(), c.pods("db").ready().names());
            assert!(all.len() <= ready.len() + 1, "one started before the other was ready\n{c}");
            ready.len() == 3
        })
        .await;
    cluster
        .until("each has a volume", |c| {
            let claims = c.all::<PersistentVolumeClaim>();
            let bound = |claim: &&std::sync::Arc<PersistentVolumeClaim>| {
                claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound")
            };
            claims.iter().filter(bound).count() == 3
        })
        .await;

    let mut change = image("nginx:2");
    change["spec"]["updateStrategy"] = json!({ "rollingUpdate": { "partition": 1 } });
    cluster.patch("StatefulSet", "db", change).await;
    let upper: BTreeSet<String> = ["db-1", "db-2"].map(str::to_owned).into();
    cluster
        .until("those above the partition are new", |c| {
            c.pods("db").ready().with_image("nginx:2").names() == upper
        })
        .await;
    cluster.meanwhile("the first stays old", |c| c.pods("db").ready().with_image("nginx:1").len() == 1).await;
    cluster
        .patch(
            "StatefulSet",
            "db",
            json!({ "spec": { "updateStrategy": { "rollingUpdate": { "partition": 0 } } } }),
        )
        .await;
    cluster
        .until("all are new", |c| {
            let status = c.get::<StatefulSet>("db").and_then(|set| set.status.clone()).unwrap_or_default();
            c.pods("db").ready().with_image("nginx:2").len() == 3
                && status.current_revision == status.update_revision
        })
        .await;

    cluster.patch("StatefulSet/scale", "db", json!({ "spec": { "replicas": 1 } })).await;
    cluster
        .until("the last ones went first", |c| {
            let names = c.pods("db").names();
            assert!(!names.contains("db-2") || names.contains("db-1"), "db-1 went before db-2\n{c}");
            names == ["db-0".to_owned()].into()
        })
        .await;
    cluster.meanwhile("their claims stay", |c| c.all::<PersistentVolumeClaim>().len() == 3).await;
}

const LOG: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: log }
spec:
  selector: { matchLabels: { app: log } }
  template:
    metadata: { labels: { app: log } }
    spec: { containers: [{ name: c, image: nginx:1 }] }
";

#[tokio::test]
async fn a_daemon_set_follows_the_nodes() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    let on = |nodes: &[&str]| -> BTreeSet<String> { nodes.iter().map(|node| (*node).to_owned()).collect() };
    cluster.apply(LOG).await;
    cluster.until("one runs on each node", |c| c.pods("log").ready().nodes() == on(&["n1", "n2"])).await;
    cluster.join(Machine::new("n3", 7)).await;
    cluster
        .until("one runs on the new node", |c| c.pods("log").ready().nodes() == on(&["n1", "n2", "n3"]))
        .await;
    cluster.node("n1").vanish();
    cluster.delete("Node", "n1", PropagationPolicy::Background).await;
    // A node that comes back soon finds its pods as they were.
    cluster.clock.advance(Duration::from_secs(60)).await;
    cluster
        .until("the one on the lost node is gone", |c| {
            let status = c.get::<DaemonSet>("log").and_then(|set| set.status.clone()).unwrap_or_default();
            c.pods("log").nodes() == on(&["n2", "n3"]) && status.desired_number_scheduled == 2
        })
        .await;
    let change = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "nginx:2" }] } } } });
    cluster.patch("DaemonSet", "log", change).await;
    cluster
        .until("both are new", |c| c.pods("log").ready().with_image("nginx:2").nodes() == on(&["n2", "n3"]))
        .await;
}
