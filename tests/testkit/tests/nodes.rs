//! Nodes that fall silent, budgets, and pods that have to make room, in a whole cluster.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kedge_testkit::{Cluster, Look, Machine, Setup};
use serde_json::json;

/// After this long without a heartbeat a node counts as gone, and after that long again its pods leave.
const NODE_GRACE: Duration = Duration::from_secs(60);
const EVICTION_DELAY: Duration = Duration::from_secs(310);

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
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            preference: { matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [n1] }] }
      containers: [{ name: c, image: nginx }]
";

fn condition(look: &Look, node: &str) -> String {
    let conditions =
        look.get::<Node>(node).and_then(|node| node.status.clone()?.conditions).unwrap_or_default();
    conditions.into_iter().find(|known| known.type_ == "Ready").map(|known| known.status).unwrap_or_default()
}

#[tokio::test]
async fn pods_leave_a_silent_node() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(WEB_PREFERS_N1).await;
    cluster.until("web runs on n1", |c| c.pods("web").len() == 2 && c.pods("web").all_on("n1")).await;
    cluster.node("n1").fall_silent();
    cluster.clock.advance(NODE_GRACE).await;
    cluster.until("n1 is missed", |c| condition(c, "n1") == "Unknown" && condition(c, "n2") == "True").await;
    cluster
        .meanwhile("pods have time to come back", |c| {
            c.pods("web").that(|pod| pod.metadata.deletion_timestamp.is_none()).len() == 2
        })
        .await;
    cluster.clock.advance(EVICTION_DELAY).await;
    cluster
        .until("web runs on n2", |c| {
            let staying = c.pods("web").that(|pod| pod.metadata.deletion_timestamp.is_none());
            staying.len() == 2 && staying.all_on("n2")
        })
        .await;
    cluster.node("n1").speak_again();
    cluster
        .until("n1 is back and the old pods are gone", |c| {
            condition(c, "n1") == "True" && c.pods("web").len() == 2 && c.pods("web").all_on("n2")
        })
        .await;
    cluster
        .until("n1 takes pods again", |c| {
            let taints = c.get::<Node>("n1").and_then(|node| node.spec.clone()?.taints).unwrap_or_default();
            taints.is_empty()
        })
        .await;
}

#[tokio::test]
async fn a_budget_keeps_pods_from_being_evicted() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(WEB_PREFERS_N1).await;
    cluster
        .apply(
            "
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: web }
spec: { minAvailable: 2, selector: { matchLabels: { app: web } } }
",
        )
        .await;
    let allowed = |look: &Look| {
        let budget = look.get::<k8s_openapi::api::policy::v1::PodDisruptionBudget>("web")?;
        let status = budget.status.clone()?;
        (status.current_healthy == Some(2)).then(|| status.disruptions_allowed.unwrap_or(0))
    };
    cluster.until("the budget counts both", |c| allowed(c) == Some(0)).await;
    let pods = cluster.of_kind("Pod").list(&Default::default()).await.unwrap().items;
    let name = pods[0].metadata.name.clone().unwrap();
    assert!(!cluster.evict(&name).await, "the budget was not asked");
    cluster.patch("PodDisruptionBudget", "web", json!({ "spec": { "minAvailable": 1 } })).await;
    cluster.until("one may go", |c| allowed(c) == Some(1)).await;
    assert!(cluster.evict(&name).await, "the budget allows one");
    cluster
        .until("another stands in its place", |c| {
            !c.pods("web").names().contains(&name) && c.pods("web").ready().len() == 2
        })
        .await;
}

fn pod(name: &str, class: &str, cpu: u32) -> String {
    format!(
        "
apiVersion: v1
kind: Pod
metadata: {{ name: {name}, labels: {{ app: {name} }} }}
spec:
  priorityClassName: {class}
  terminationGracePeriodSeconds: 1
  containers: [{{ name: c, image: nginx, resources: {{ requests: {{ cpu: {cpu} }} }} }}]
"
    )
}

#[tokio::test]
async fn pods_that_matter_less_make_room() {
    let machines = vec![Machine { cpus: 4, ..Machine::new("n1", 0) }];
    let cluster = Cluster::of(Setup { machines, ..Setup::default() }).await;
    for (class, value) in [("low", 10), ("high", 1000)] {
        let yaml = format!(
            "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{ name: {class} }}\nvalue: {value}\n"
        );
        cluster.apply(&yaml).await;
    }
    cluster.apply(&pod("small", "low", 1)).await;
    cluster.apply(&pod("big", "low", 3)).await;
    cluster.until("both run", |c| c.pods("small").all_on("n1") && c.pods("big").all_on("n1")).await;
    cluster.apply(&pod("more", "low", 2)).await;
    cluster
        .until("there is no room for more", |c| {
            c.has_event("FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu")
        })
        .await;
    cluster.apply(&pod("urgent", "high", 2)).await;
    cluster
        .until("the urgent one runs in the place of the big one", |c| {
            c.pods("urgent").all_on("n1") && c.pods("big").is_empty()
        })
        .await;
    cluster.until("the small one was left alone", |c| c.pods("small").all_on("n1")).await;
}
