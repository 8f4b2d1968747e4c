//! What can't go well in a whole cluster: the cause is named, nobody tries without pause, nobody else is disturbed, and once the
//! obstacle is gone all is as it was asked for.
#![allow(clippy::unwrap_used, reason = "tests end where something is wrong")]

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota};
use kedge_testkit::{Cluster, Look};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: nginx:1 }] }
";

const RATION: &str = "
apiVersion: v1
kind: ResourceQuota
metadata: { name: ration }
spec: { hard: { pods: '1' } }
";

const NO_PODS: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: no-pods }
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{ apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods] }]
  validations: [{ expression: 'false', message: nobody today }]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: no-pods }
spec: { policyName: no-pods, validationActions: [Deny] }
";

/// More writes than heartbeats and patient tries need in ten minutes.
const MANY: u64 = 400;

async fn is_calm(cluster: &Cluster, what: &str) {
    let before = cluster.api.store.revision().get();
    cluster.clock.advance(Duration::from_secs(600)).await;
    let written = cluster.api.store.revision().get() - before;
    assert!(written < MANY, "{what}: {written} writes in ten minutes");
}

fn fails_with(look: &Look, message: &str) -> bool {
    let status = look.get::<Deployment>("web").and_then(|web| web.status.clone()).unwrap_or_default();
    let mut conditions = status.conditions.unwrap_or_default().into_iter();
    conditions
        .any(|known| known.type_ == "ReplicaFailure" && known.message.unwrap_or_default().contains(message))
}

#[tokio::test]
async fn a_quota_blocks_and_makes_way() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(RATION).await;
    cluster.apply(WEB).await;
    cluster.until("the quota is named", |c| fails_with(c, "exceeded quota: ration")).await;
    cluster.until("one runs", |c| c.pods("web").ready().len() == 1).await;
    cluster.until("it is told", |c| c.has_event("FailedCreate", "exceeded quota: ration")).await;
    is_calm(&cluster, "a quota that blocks").await;
    cluster.patch("ResourceQuota", "ration", json!({ "spec": { "hard": { "pods": "5" } } })).await;
    cluster.clock.advance(Duration::from_secs(320)).await;
    cluster.until("all run", |c| c.pods("web").ready().len() == 3 && !fails_with(c, "")).await;
    cluster
        .until("what is used is what is there", |c| {
            let used = c.get::<ResourceQuota>("ration").and_then(|quota| quota.status.clone()?.used);
            used.is_some_and(|used| used["pods"].0 == "3")
        })
        .await;
}

#[tokio::test]
async fn a_policy_refuses_pods_and_is_taken_back() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(NO_PODS).await;
    cluster.apply(WEB).await;
    cluster.until("the policy is named", |c| fails_with(c, "nobody today")).await;
    is_calm(&cluster, "a policy that refuses").await;
    let client = cluster.client.clone();
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/no-pods";
    client.request_text(http::Request::delete(path).body(Vec::new()).unwrap()).await.unwrap();
    cluster.clock.advance(Duration::from_secs(320)).await;
    cluster.until("all run", |c| c.pods("web").ready().len() == 3 && !fails_with(c, "")).await;
}

#[tokio::test]
async fn two_sets_want_the_same_pods() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    for name in ["one", "other"] {
        let set = WEB
            .replace("kind: Deployment", "kind: ReplicaSet")
            .replace("name: web }", &format!("name: {name} }}"));
        cluster.apply(&set).await;
    }
    cluster
        .until("each has its own", |c| {
            let ready =
                |name: &str| c.get::<ReplicaSet>(name).and_then(|set| set.status.clone()?.ready_replicas);
            ready("one") == Some(3) && ready("other") == Some(3) && c.pods("web").ready().len() == 6
        })
        .await;
    is_calm(&cluster, "two sets with one selector").await;
    cluster.meanwhile("nobody loses any", |c| c.pods("web").ready().len() == 6).await;
}

#[tokio::test]
async fn owners_that_make_no_sense_disturb_nobody() {
    let cluster = Cluster::with_nodes([]).await;
    for name in ["a", "b", "odd"] {
        cluster.apply(&format!("{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name} }} }}")).await;
    }
    let maps = cluster.of_kind("ConfigMap");
    let uid = |name: &'static str| {
        let maps = maps.clone();
        async move { maps.get(name).await.unwrap().uid().unwrap() }
    };
    let owner = |version: &str, kind: &str, name: &str, uid: String| {
        let owner = json!({ "apiVersion": version, "kind": kind, "name": name, "uid": uid });
        json!({ "metadata": { "ownerReferences": [owner] } })
    };
    let patches = [
        ("a", owner("v1", "ConfigMap", "b", uid("b").await)),
        ("b", owner("v1", "ConfigMap", "a", uid("a").await)),
        ("odd", owner("nowhere.test/v1", "Thing", "x", "1f0c9c3e-0000-4000-8000-000000000000".to_owned())),
    ];
    for (name, patch) in patches {
        maps.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    is_calm(&cluster, "cyclic owners and those of unknown kinds").await;
    let there = |c: &Look, name: &str| c.get::<ConfigMap>(name).is_some();
    cluster.meanwhile("all stay", |c| there(c, "a") && there(c, "b") && there(c, "odd")).await;
    maps.delete("a", &kube::api::DeleteParams::background()).await.unwrap();
    cluster.until("the circle goes", |c| !there(c, "a") && !there(c, "b")).await;
}

const NEVER: &str = "
apiVersion: batch/v1
kind: CronJob
metadata: { name: never }
spec:
  schedule: '0 0 30 2 *'
  jobTemplate: { spec: { template: { spec: { restartPolicy: Never, containers: [{ name: c, image: i }] } } } }
---
apiVersion: batch/v1
kind: Job
metadata: { name: hopeless }
spec:
  backoffLimit: 1
  template:
    metadata: { labels: { app: hopeless }, annotations: { testkit.kedge.dev/exit-code: '1' } }
    spec: { restartPolicy: Never, containers: [{ name: c, image: i }] }
";

#[tokio::test]
async fn what_can_never_happen_is_said_or_left_alone() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(NEVER).await;
    cluster.clock.advance(Duration::from_secs(120)).await;
    cluster
        .until("the job has failed", |c| {
            let job = c.get::<Job>("hopeless").and_then(|job| job.status.clone()).unwrap_or_default();
            let mut conditions = job.conditions.unwrap_or_default().into_iter();
            conditions.any(|known| {
                known.type_ == "Failed" && known.reason.as_deref() == Some("BackoffLimitExceeded")
            })
        })
        .await;
    is_calm(&cluster, "a cron line that never matches").await;
    cluster
        .meanwhile("nothing was made", |c| c.get::<CronJob>("never").is_some() && c.all::<Job>().len() == 1)
        .await;
}
