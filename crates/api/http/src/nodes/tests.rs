//! What nodes may: a table of questions, before and after pods come and go.

use kedge_store::{Draft, Expect, Store, Txn};
use serde_json::{Value, json};

use super::Nodes;
use crate::rbac::{Ask, Rbac, What};
use crate::tests::user;

async fn put(store: &Store, key: &str, object: Value) {
    let txn = Txn::new().put(key, Expect::Any, Draft::new(object.to_string()));
    store.commit(txn).await.unwrap();
}

fn pod(node: &str, annotations: Value) -> Value {
    json!({
        "metadata": { "annotations": annotations },
        "spec": {
            "nodeName": node, "serviceAccountName": "bot",
            "imagePullSecrets": [{ "name": "pull" }],
            "containers": [{ "env": [{ "valueFrom": { "secretKeyRef": { "name": "key", "key": "k" } } }], "envFrom": [{ "configMapRef": { "name": "env" } }] }],
            "initContainers": [{ "envFrom": [{ "secretRef": { "name": "init" } }] }],
            "volumes": [
                { "name": "a", "secret": { "secretName": "file" } },
                { "name": "b", "projected": { "sources": [{ "configMap": { "name": "part" } }] } },
                { "name": "c", "persistentVolumeClaim": { "claimName": "disk" } },
                { "name": "d", "ephemeral": {} },
                { "name": "e", "csi": { "nodePublishSecretRef": { "name": "csi" } } },
            ],
            "resourceClaims": [{ "name": "gpu", "resourceClaimName": "gpu" }],
        },
    })
}

/// `verb group/resource[/subresource] namespace/name[?fields]`
fn allowed(nodes: &Nodes, rbac: &Rbac, node: &str, question: &str) -> bool {
    let mut words = question.split(' ');
    let mut next = || words.next().unwrap_or("");
    let (verb, path, place) = (next(), next(), next());
    let mut path = path.split('/');
    let mut next = || path.next().unwrap_or("");
    let (group, resource, subresource) = (next(), next(), next());
    let (place, fields) = place.split_once('?').unwrap_or((place, ""));
    let (namespace, name) = place.split_once('/').unwrap_or(("", place));
    let what = What::Resource { group, resource, subresource, namespace, name };
    let user = user(&format!("system:node:{node}"), &["system:nodes", "system:authenticated"]);
    nodes.decide(rbac, &user, &Ask { verb, what }, fields).is_some_and(|verdict| verdict.is_ok())
}

const THINGS: [&str; 16] = [
    "get /secrets default/file",
    "get /secrets default/pull",
    "get /secrets default/key",
    "get /secrets default/init",
    "get /secrets default/csi",
    "get /secrets default/volume",
    "list /secrets default/file",
    "watch /configmaps default/env",
    "get /configmaps default/part",
    "get /persistentvolumeclaims default/disk",
    "get /persistentvolumeclaims default/p-d",
    "get /persistentvolumes pv",
    "create /serviceaccounts/token default/bot",
    "get /serviceaccounts default/bot",
    "get resource.k8s.io/resourceclaims default/gpu",
    "get /pods default/p",
];

#[tokio::test]
async fn a_node_sees_what_its_pods_need_while_they_are_there() {
    let store = Store::memory();
    let (nodes, rbac) = (Nodes::new(store.clone()), Rbac::new(store.clone()));
    let volume = json!({ "spec": {
        "claimRef": { "namespace": "default", "name": "disk" },
        "csi": { "nodeStageSecretRef": { "namespace": "default", "name": "volume" } },
    } });
    put(&store, "/registry/persistentvolumes/pv", volume).await;
    let all = |node: &str| THINGS.iter().map(|thing| allowed(&nodes, &rbac, node, thing)).collect::<Vec<_>>();
    assert_eq!(all("n1"), [false; 16], "no pod yet");
    put(&store, "/registry/pods/default/p", pod("n1", json!({}))).await;
    for thing in THINGS {
        assert!(allowed(&nodes, &rbac, "n1", thing), "{thing}");
        assert!(!allowed(&nodes, &rbac, "n2", thing), "{thing}, for another node");
    }
    put(&store, "/registry/pods/default/q", pod("n1", json!({}))).await;
    store.commit(Txn::new().delete("/registry/pods/default/q", Expect::Any)).await.unwrap();
    assert!(allowed(&nodes, &rbac, "n1", THINGS[0]), "one of two pods is still there");
    put(&store, "/registry/pods/default/p", pod("n2", json!({}))).await;
    assert_eq!(all("n1"), [false; 16], "the pod runs elsewhere");
    put(&store, "/registry/pods/default/p", pod("n1", json!({ "kubernetes.io/config.mirror": "x" }))).await;
    assert!(!allowed(&nodes, &rbac, "n1", THINGS[0]), "a mirror opens nothing");
    assert!(allowed(&nodes, &rbac, "n1", "get /pods default/p"), "and is its own");
    store.commit(Txn::new().delete("/registry/pods/default/p", Expect::Any)).await.unwrap();
    assert_eq!(all("n1"), [false; 16], "the pod is gone");
}

#[tokio::test]
async fn a_node_has_its_own_objects_and_no_others() {
    let store = Store::memory();
    let (nodes, rbac) = (Nodes::new(store.clone()), Rbac::new(store.clone()));
    let of = |node: &str| json!({ "spec": { "nodeName": node } });
    put(&store, "/registry/resourceslices/s1", of("n1")).await;
    put(&store, "/registry/resourceslices/s2", of("n2")).await;
    put(&store, "/registry/volumeattachments/a1", of("n1")).await;
    for (question, expected) in [
        ("get /nodes n1", true),
        ("get /nodes n2", false),
        ("list /nodes ", false),
        ("list /nodes n1", true),
        ("update /nodes/status n2", true),
        ("delete /nodes n1", false),
        ("list /pods ", false),
        ("list /pods ?spec.nodeName=n1", true),
        ("watch /pods ?spec.nodeName==n1,status.phase=Running", true),
        ("list /pods ?spec.nodeName=n2", false),
        ("list /pods ?spec.nodeName!=n1", false),
        ("create /pods default/", true),
        ("update /pods default/p", false),
        ("create /pods/eviction default/p", true),
        ("create /pods/exec default/p", false),
        ("list /secrets default/", false),
        ("create /secrets default/x", false),
        ("get coordination.k8s.io/leases kube-node-lease/n1", true),
        ("get coordination.k8s.io/leases kube-node-lease/n2", false),
        ("update coordination.k8s.io/leases default/n1", false),
        ("list coordination.k8s.io/leases kube-node-lease/", false),
        ("get storage.k8s.io/csinodes n1", true),
        ("patch storage.k8s.io/csinodes n2", false),
        ("get storage.k8s.io/volumeattachments a1", true),
        ("get resource.k8s.io/resourceslices s1", true),
        ("delete resource.k8s.io/resourceslices s2", false),
        ("list resource.k8s.io/resourceslices ", false),
        ("list resource.k8s.io/resourceslices ?spec.nodeName=n1", true),
    ] {
        assert_eq!(allowed(&nodes, &rbac, "n1", question), expected, "{question}");
    }
    let impostor = user("system:node:n1", &["system:authenticated"]);
    let what = What::Resource { group: "", resource: "nodes", subresource: "", namespace: "", name: "n1" };
    assert!(
        nodes.decide(&rbac, &impostor, &Ask { verb: "get", what }, "").is_none(),
        "not in the nodes' group"
    );
}

#[tokio::test]
async fn a_node_removes_the_volumes_on_its_own_disk() {
    let store = Store::memory();
    let (nodes, rbac) = (Nodes::new(store.clone()), Rbac::new(store.clone()));
    let volume = json!({ "metadata": { "annotations": { "kedge.dev/node": "n1" } }, "spec": {} });
    put(&store, "/registry/persistentvolumes/pv", volume).await;
    for (node, thing, expected) in [
        ("n1", "patch /persistentvolumes pv", true),
        ("n2", "patch /persistentvolumes pv", false),
        ("n1", "patch /persistentvolumes other", false),
        ("n1", "update /persistentvolumes pv", false),
        ("n1", "delete /persistentvolumes pv", false),
        ("n1", "patch /persistentvolumes/status pv", false),
        ("n2", "watch /persistentvolumes", true),
    ] {
        assert_eq!(allowed(&nodes, &rbac, node, thing), expected, "{node}: {thing}");
    }
}
