//! Deployments in a whole cluster: rolled out, rolled back, paused, stuck and scaled.
#![allow(clippy::unwrap_used, reason = "tests end where something is wrong")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kedge_testkit::{Cluster, Look};
use serde_json::json;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 4
  progressDeadlineSeconds: 60
  selector: { matchLabels: { app: web } }
  strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: nginx:1 }] }
";

fn image(image: &str) -> serde_json::Value {
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": image }] } } } })
}

fn runs(look: &Look, image: &str, count: usize) -> bool {
    let pods = look.pods("web");
    pods.len() == count && pods.ready().with_image(image).len() == count
}

fn condition(look: &Look, type_: &str) -> Option<(String, String)> {
    let status = look.get::<Deployment>("web")?.status.clone()?;
    let known = status.conditions?.into_iter().find(|known| known.type_ == type_)?;
    Some((known.status, known.reason.unwrap_or_default()))
}

fn is_complete(look: &Look) -> bool {
    condition(look, "Progressing") == Some(("True".to_owned(), "NewReplicaSetAvailable".to_owned()))
}

fn sets(look: &Look) -> Vec<(i64, i32)> {
    let mut sets: Vec<(i64, i32)> = look
        .all::<ReplicaSet>()
        .iter()
        .map(|set| {
            let revision = &set.metadata.annotations.as_ref().unwrap()["deployment.kubernetes.io/revision"];
            (revision.parse().unwrap(), set.spec.as_ref().unwrap().replicas.unwrap())
        })
        .collect();
    sets.sort_unstable();
    sets
}

#[tokio::test]
async fn a_new_template_rolls_out_and_back_without_losing_too_many_pods() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(WEB).await;
    cluster.until("web runs", |c| runs(c, "nginx:1", 4) && is_complete(c)).await;

    cluster.patch("Deployment", "web", image("nginx:2")).await;
    cluster
        .until("nginx:2 runs, and never fewer than three", |c| {
            assert!(c.pods("web").ready().len() >= 3, "too few are ready\n{c}");
            let active = c.pods("web").that(|pod| pod.metadata.deletion_timestamp.is_none());
            assert!(active.len() <= 5, "too many\n{c}");
            runs(c, "nginx:2", 4)
        })
        .await;
    cluster.until("the old set is empty", |c| sets(c) == [(1, 0), (2, 4)] && is_complete(c)).await;

    cluster.patch("Deployment", "web", image("nginx:1")).await;
    cluster
        .until("nginx:1 is back as the third revision", |c| {
            runs(c, "nginx:1", 4) && sets(c) == [(2, 0), (3, 4)] && is_complete(c)
        })
        .await;
}

#[tokio::test]
async fn a_paused_deployment_scales_but_does_not_roll() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(WEB).await;
    cluster.until("web runs", |c| runs(c, "nginx:1", 4)).await;
    let mut change = image("nginx:2");
    change["spec"]["paused"] = true.into();
    change["spec"]["replicas"] = 6.into();
    cluster.patch("Deployment", "web", change).await;
    cluster.until("six of the old run", |c| runs(c, "nginx:1", 6)).await;
    cluster.meanwhile("nothing else does", |c| sets(c) == [(1, 6)]).await;
    cluster.patch("Deployment", "web", json!({ "spec": { "paused": false } })).await;
    cluster.until("it rolls when resumed", |c| runs(c, "nginx:2", 6)).await;
}

#[tokio::test]
async fn a_rollout_that_does_not_progress_says_so_and_can_be_undone() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(WEB).await;
    cluster.until("web runs", |c| runs(c, "nginx:1", 4) && is_complete(c)).await;
    cluster.patch("Deployment", "web", image("nginx:nonexistent")).await;
    cluster
        .until("two new pods wait for their image", |c| {
            c.pods("web").with_image("nginx:nonexistent").in_phase("Pending").len() == 2
        })
        .await;
    cluster.clock.advance(Duration::from_secs(61)).await;
    cluster
        .until("its deadline is over", |c| {
            condition(c, "Progressing") == Some(("False".to_owned(), "ProgressDeadlineExceeded".to_owned()))
                && c.pods("web").ready().with_image("nginx:1").len() == 3
        })
        .await;
    cluster.patch("Deployment", "web", image("nginx:1")).await;
    cluster.until("the old one runs again", |c| runs(c, "nginx:1", 4) && is_complete(c)).await;
}

#[tokio::test]
async fn pods_that_are_worth_less_go_first() {
    let cluster = Cluster::with_nodes(["n1", "n2"]).await;
    cluster.apply(WEB).await;
    cluster.until("web runs", |c| runs(c, "nginx:1", 4)).await;
    let names: Vec<String> = {
        let pods = cluster.of_kind("Pod").list(&Default::default()).await.unwrap();
        pods.items.iter().map(|pod| pod.metadata.name.clone().unwrap()).collect()
    };
    let cost = |cost: &str| json!({ "metadata": { "annotations": { "controller.kubernetes.io/pod-deletion-cost": cost } } });
    cluster.patch("Pod", &names[2], cost("100")).await;
    cluster.patch("Pod", &names[0], cost("-100")).await;
    cluster
        .until("the costs are known", |c| {
            c.pods("web").that(|pod| pod.metadata.annotations.is_some()).len() == 2
        })
        .await;
    cluster.patch("Deployment/scale", "web", json!({ "spec": { "replicas": 3 } })).await;
    cluster.until("three are left", |c| c.pods("web").len() == 3).await;
    cluster.until("the cheapest went", |c| !c.pods("web").names().contains(&names[0])).await;
    cluster.patch("Deployment/scale", "web", json!({ "spec": { "replicas": 1 } })).await;
    cluster.until("one is left", |c| c.pods("web").len() == 1).await;
    cluster.until("the dearest stayed", |c| c.pods("web").names().contains(&names[2])).await;
}
