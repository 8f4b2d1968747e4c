//! What is left behind, in a whole cluster: dependents, orphans and whole namespaces.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use kedge_testkit::{Cluster, Look};
use kube::ResourceExt;
use kube::api::PropagationPolicy;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: nginx }] }
";

fn runs(look: &Look) -> bool {
    look.pods("web").ready().len() == 3
}

#[tokio::test]
async fn dependents_go_after_in_the_background() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(WEB).await;
    cluster.until("web runs", runs).await;
    cluster.delete("Deployment", "web", PropagationPolicy::Background).await;
    cluster
        .until("everything is gone", |c| c.pods("web").is_empty() && c.all::<ReplicaSet>().is_empty())
        .await;
}

#[tokio::test]
async fn an_owner_waits_for_its_dependents_in_the_foreground() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(WEB).await;
    cluster.until("web runs", runs).await;
    cluster.delete("Deployment", "web", PropagationPolicy::Foreground).await;
    cluster
        .until("the last to go is the deployment", |c| {
            let (pods, sets) = (c.pods("web").len(), c.all::<ReplicaSet>().len());
            let gone = c.get::<Deployment>("web").is_none();
            gone && pods == 0 && sets == 0
        })
        .await;
}

#[tokio::test]
async fn orphans_stay_and_find_a_new_owner() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(WEB).await;
    cluster.until("web runs", runs).await;
    cluster.delete("Deployment", "web", PropagationPolicy::Orphan).await;
    cluster.until("the deployment is gone", |c| c.get::<Deployment>("web").is_none()).await;
    let owners = |look: &Look| -> Vec<String> {
        let sets = look.all::<ReplicaSet>();
        sets.iter().flat_map(|set| set.owner_references().iter().map(|owner| owner.uid.clone())).collect()
    };
    cluster
        .meanwhile("its set stays, and the set's pods", |c| {
            runs(c) && owners(c).is_empty() && c.all::<ReplicaSet>().len() == 1
        })
        .await;
    cluster.apply(WEB).await;
    cluster
        .until("another of the same name takes it over", |c| {
            let uid = c.get::<Deployment>("web").and_then(|deployment| deployment.uid());
            runs(c) && owners(c) == Vec::from_iter(uid) && c.pods("web").len() == 3
        })
        .await;
}

#[tokio::test]
async fn a_new_owner_of_an_old_name_inherits_nothing() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: owner }\n").await;
    let uid = cluster.of_kind("ConfigMap").get("owner").await.unwrap().uid().unwrap();
    cluster.delete("ConfigMap", "owner", PropagationPolicy::Background).await;
    cluster.until("the old one is gone", |c| c.get::<ConfigMap>("owner").is_none()).await;
    cluster.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: owner }\n").await;
    let owned = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{ name: owned, ownerReferences: [{{ apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid} }}] }}\n"
    );
    cluster.apply(&owned).await;
    cluster
        .until("what the old one owned is gone", |c| {
            c.get::<Secret>("owned").is_none() && !c.all::<Secret>().iter().any(|s| s.name_any() == "owned")
        })
        .await;
    cluster.meanwhile("the new one stays", |c| c.get::<ConfigMap>("owner").is_some()).await;
}

#[tokio::test]
async fn a_namespace_takes_everything_with_it() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: { name: shop }\n").await;
    cluster.apply(&WEB.replace("{ name: web }\nspec", "{ name: web, namespace: shop }\nspec")).await;
    cluster.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings, namespace: shop }\n").await;
    cluster.until("web runs", runs).await;
    cluster.delete("Namespace", "shop", PropagationPolicy::Background).await;
    cluster
        .until("nothing is left of it", |c| {
            let inside = |namespace: Option<String>| namespace.as_deref() == Some("shop");
            c.get::<Namespace>("shop").is_none()
                && !c.all::<Pod>().iter().any(|pod| inside(pod.namespace()))
                && !c.all::<ReplicaSet>().iter().any(|set| inside(set.namespace()))
                && !c.all::<ConfigMap>().iter().any(|map| inside(map.namespace()))
        })
        .await;
}
