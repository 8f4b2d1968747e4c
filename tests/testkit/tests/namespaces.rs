//! Namespaces in a whole cluster: emptied in order, kept by what is kept, and never mistaken for their successors.
#![allow(clippy::unwrap_used, reason = "tests end where something is wrong")]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kedge_testkit::{Cluster, Look};
use kube::api::PropagationPolicy;
use kube::{Api, ResourceExt};
use serde_json::json;

const STAGE: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: stage }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: free, namespace: stage }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: kept, namespace: stage, finalizers: [example.test/a] }
---
apiVersion: v1
kind: Pod
metadata: { name: p, namespace: stage, finalizers: [example.test/pod] }
spec: { containers: [{ name: c, image: i }] }
";

fn said(look: &Look, type_: &str) -> String {
    let status = look.get::<Namespace>("stage").and_then(|namespace| namespace.status.clone());
    let conditions = status.and_then(|status| status.conditions).unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition.type_ == type_);
    found.and_then(|condition| condition.message).unwrap_or_default()
}

fn maps(look: &Look) -> Vec<String> {
    let all = look.all::<ConfigMap>();
    all.iter().filter(|map| map.namespace().as_deref() == Some("stage")).map(|map| map.name_any()).collect()
}

async fn let_go<K>(cluster: &Cluster, name: &str)
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(cluster.client.clone(), "stage");
    let patch = json!({ "metadata": { "finalizers": null } });
    api.patch(name, &kube::api::PatchParams::default(), &kube::api::Patch::Merge(patch)).await.unwrap();
}

#[tokio::test]
async fn a_namespace_goes_pods_first_and_says_what_keeps_it() {
    let cluster = Cluster::with_nodes(["n1"]).await;
    cluster.apply(STAGE).await;
    cluster.delete("Namespace", "stage", PropagationPolicy::Background).await;
    cluster
        .until("it waits for its pod", |c| {
            said(c, "NamespaceContentRemaining")
                == "Some resources are remaining: pods. has 1 resource instances"
                && said(c, "NamespaceFinalizersRemaining")
                    .contains("example.test/pod in 1 resource instances")
        })
        .await;
    cluster.until("nothing else is touched", |c| maps(c).contains(&"free".to_owned())).await;
    let_go::<Pod>(&cluster, "p").await;
    cluster
        .until("only what is kept is left", |c| {
            maps(c) == ["kept"]
                && said(c, "NamespaceContentRemaining")
                    == "Some resources are remaining: configmaps. has 1 resource instances"
        })
        .await;
    let_go::<ConfigMap>(&cluster, "kept").await;
    cluster.until("it is gone", |c| c.get::<Namespace>("stage").is_none()).await;
}

#[tokio::test]
async fn a_namespace_made_anew_keeps_what_is_in_it() {
    let cluster = Cluster::with_nodes([]).await;
    let namespace = "{ apiVersion: v1, kind: Namespace, metadata: { name: stage } }";
    for _ in 0..5 {
        cluster.apply(namespace).await;
        for name in ["a", "b"] {
            let map = format!(
                "{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name}, namespace: stage }} }}"
            );
            cluster.apply(&map).await;
        }
        cluster.meanwhile("its maps stay", |c| maps(c).starts_with(&["a".to_owned(), "b".to_owned()])).await;
        cluster.delete("Namespace", "stage", PropagationPolicy::Background).await;
        cluster.until("it is gone", |c| c.get::<Namespace>("stage").is_none() && maps(c).is_empty()).await;
    }
}
