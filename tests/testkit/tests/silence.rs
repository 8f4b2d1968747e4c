//! What becomes of pods whose node falls silent, is tainted or goes away, in a whole cluster.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_testkit::{Cluster, Look};
use kube::api::PropagationPolicy;
use serde_json::json;

/// A little longer than a node may be silent, and far shorter than pods are patient as a rule.
const NODE_GRACE: Duration = Duration::from_secs(60);

const WEB_PREFERS_N1: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      tolerations: [{ key: maintenance, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }]
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            preference: { matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [n1] }] }
      containers: [{ name: c, image: nginx }]
";

const ALONE: &str = "
apiVersion: v1
kind: Pod
metadata: { name: alone, labels: { app: alone } }
spec: { nodeName: n1, containers: [{ name: c, image: nginx }] }
";

fn stays(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none()
}

fn both_stay_on(look: &Look, node: &str) -> bool {
    let staying = look.pods("web").that(stays);
    staying.len() == 2 && staying.nodes().into_iter().eq([node])
}

fn taints(look: &Look, node: &str) -> Vec<String> {
    let taints = look.get::<Node>(node).and_then(|node| node.spec.clone()?.taints).unwrap_or_default();
    taints.into_iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect()
}

#[tokio::test]
async fn a_pod_that_has_not_begun_moves_at_once() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.until("n1 takes pods", |c| taints(c, "n1").is_empty() && taints(c, "n2").is_empty()).await;
    cluster.node("n1").fall_silent();
    cluster.apply(WEB_PREFERS_N1).await;
    cluster.until("web is bound to n1, which nobody knows to be gone", |c| both_stay_on(c, "n1")).await;
    cluster.clock.advance(NODE_GRACE).await;
    cluster
        .until("web runs on n2", |c| both_stay_on(c, "n2") && c.pods("web").that(stays).ready().len() == 2)
        .await;
    assert!(cluster.clock.now().as_second() - 1_893_499_200 < 120, "long before their patience was over");
    cluster.node("n1").speak_again();
    cluster.until("the old ones are gone", |c| c.pods("web").len() == 2 && both_stay_on(c, "n2")).await;
}

#[tokio::test]
async fn a_pod_of_nobody_stays_and_is_not_ready() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(ALONE).await;
    cluster.until("it runs", |c| c.pods("alone").ready().len() == 1).await;
    cluster.node("n1").fall_silent();
    cluster.clock.advance(NODE_GRACE).await;
    cluster
        .until("it is not ready and n1 lets nobody in", |c| {
            c.pods("alone").ready().is_empty()
                && c.pods("alone").that(stays).len() == 1
                && taints(c, "n1")
                    == [
                        "node.kubernetes.io/unreachable:NoSchedule",
                        "node.kubernetes.io/unreachable:NoExecute",
                    ]
        })
        .await;
    cluster.node("n1").speak_again();
    cluster
        .until("all is as it was", |c| c.pods("alone").ready().len() == 1 && taints(c, "n1").is_empty())
        .await;
}

#[tokio::test]
async fn the_last_node_loses_nobody() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(ALONE).await;
    cluster.until("it runs", |c| c.pods("alone").ready().len() == 1).await;
    cluster.node("n1").fall_silent();
    cluster.clock.advance(NODE_GRACE).await;
    cluster.until("it is missed", |c| taints(c, "n1") == ["node.kubernetes.io/unreachable:NoSchedule"]).await;
    cluster.clock.advance(Duration::from_secs(400)).await;
    cluster.meanwhile("nobody is driven away", |c| c.pods("alone").that(stays).len() == 1).await;
}

#[tokio::test]
async fn a_tainted_nodes_pods_go_when_their_patience_ends() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(WEB_PREFERS_N1).await;
    cluster.until("web runs on n1", |c| both_stay_on(c, "n1") && c.pods("web").ready().len() == 2).await;
    // Whoever tolerates the one for a while would come back for a while, were it not for the other.
    let taint = json!({"spec": {"taints": [
        {"key": "maintenance", "effect": "NoExecute"}, {"key": "closed", "effect": "NoSchedule"},
    ]}});
    cluster.patch("Node", "n1", taint.clone()).await;
    cluster.clock.advance(Duration::from_secs(20)).await;
    cluster.meanwhile("they wait", |c| both_stay_on(c, "n1")).await;
    cluster.patch("Node", "n1", json!({"spec": {"taints": null}})).await;
    cluster.clock.advance(Duration::from_secs(40)).await;
    cluster.meanwhile("it is over", |c| both_stay_on(c, "n1")).await;
    cluster.patch("Node", "n1", taint).await;
    cluster.until("the taint is there", |c| taints(c, "n1").len() == 2).await;
    cluster.clock.advance(Duration::from_secs(40)).await;
    cluster.until("web is on n2", |c| c.pods("web").len() == 2 && both_stay_on(c, "n2")).await;
}

#[tokio::test]
async fn a_deleted_nodes_pods_are_made_anew() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(WEB_PREFERS_N1).await;
    cluster.until("web runs on n1", |c| both_stay_on(c, "n1") && c.pods("web").ready().len() == 2).await;
    cluster.node("n1").vanish();
    cluster.delete("Node", "n1", PropagationPolicy::Background).await;
    cluster.clock.advance(Duration::from_secs(30)).await;
    cluster.meanwhile("n1 may come back", |c| both_stay_on(c, "n1")).await;
    cluster.clock.advance(Duration::from_secs(20)).await;
    cluster.until("web is on n2", |c| c.pods("web").len() == 2 && both_stay_on(c, "n2")).await;
}
