//! What tests of plugins are made of: nodes and pods in a few words, and what a filter or a score says about every node.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node as NodeObject, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment};
use kedge_children::testing::{hold, object};
use kedge_engine::World;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::node::{Node, NodeFacts};
use crate::plugin::{Filter, PreparedFilter, Score, Whole};
use crate::pod::PodView;

/// A node with room for 10 pods, 4 processors and 8 GiB, labelled with its own name as its hostname.
pub(crate) fn node(name: &str, edit: impl FnOnce(&mut Value)) -> NodeFacts {
    let mut value = json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    });
    edit(&mut value);
    NodeFacts::of(&object::<NodeObject>(value))
}

/// The same in a zone.
pub(crate) fn node_in(zone: &str, name: &str) -> NodeFacts {
    node(name, |node| node["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone.into())
}

/// A pod of the namespace `n` that asks for nothing.
pub(crate) fn pod(name: &str, edit: impl FnOnce(&mut Value)) -> PodView {
    let mut value = json!({
        "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1", "labels": {}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    edit(&mut value);
    PodView::of(&object::<Pod>(value))
}

/// A pod with the label `app`.
pub(crate) fn app(name: &str, app: &str) -> PodView {
    pod(name, |pod| pod["metadata"]["labels"]["app"] = app.into())
}

pub(crate) fn on(node: &str, pod: &PodView) -> Arc<PodView> {
    Arc::new(pod.placed_on(node))
}

pub(crate) fn cluster(
    nodes: impl IntoIterator<Item = NodeFacts>,
    pods: impl IntoIterator<Item = Arc<PodView>>,
) -> Cluster {
    cluster_in(World::by_hand(), nodes, pods)
}

pub(crate) fn cluster_in(
    world: World,
    nodes: impl IntoIterator<Item = NodeFacts>,
    pods: impl IntoIterator<Item = Arc<PodView>>,
) -> Cluster {
    let mut cluster = Cluster::new(world);
    for node in nodes {
        cluster.put_node(node);
    }
    for pod in pods {
        cluster.put_pod(pod);
    }
    cluster
}

/// Which nodes are out, by name and reason, `!` before those that no removal of pods would help: `a: ! Too many pods`.
pub(crate) fn rejected(filter: &dyn Filter, pod: &PodView, cluster: &Cluster) -> Vec<String> {
    match filter.prepare(pod, cluster) {
        Ok(prepared) => rejected_by(&*prepared, cluster),
        Err(Whole::Skip) => Vec::new(),
        Err(Whole::Reject(rejection)) => {
            let reasons: Vec<_> = rejection.reasons().collect();
            vec![format!("all: {}{}", if rejection.resolvable { "" } else { "! " }, reasons.join(", "))]
        }
        Err(Whole::NotReady(missing)) => vec![format!("not ready: {missing}")],
    }
}

pub(crate) fn rejected_by(prepared: &dyn PreparedFilter, cluster: &Cluster) -> Vec<String> {
    let line = |node: &Node| {
        let rejection = prepared.check(node).err()?;
        let reasons: Vec<_> = rejection.reasons().collect();
        Some(format!("{}: {}{}", node.name, if rejection.resolvable { "" } else { "! " }, reasons.join(", ")))
    };
    let mut lines: Vec<_> = cluster.nodes().filter_map(line).collect();
    lines.sort();
    lines
}

/// The names of the nodes that pass.
pub(crate) fn passing(filter: &dyn Filter, pod: &PodView, cluster: &Cluster) -> String {
    let rejected = rejected(filter, pod, cluster);
    let out = |node: &&Node| {
        rejected.iter().any(|line| line.starts_with("all:") || line.starts_with(&format!("{}:", node.name)))
    };
    let mut names: Vec<_> =
        cluster.nodes().filter(|node| !out(node)).map(|node| node.name.to_string()).collect();
    names.sort();
    names.join(" ")
}

/// The final score of every node, by name; nothing if the plugin has no opinion.
pub(crate) fn scores(score: &dyn Score, pod: &PodView, cluster: &Cluster) -> Option<Vec<(String, i64)>> {
    let mut nodes: Vec<_> = cluster.nodes().collect();
    nodes.sort_by(|one, other| one.name.cmp(&other.name));
    let prepared = score.prepare(pod, cluster, &nodes)?;
    let mut scores: Vec<_> = nodes.iter().map(|node| prepared.score(node)).collect();
    prepared.normalize(&mut scores);
    Some(nodes.iter().map(|node| node.name.to_string()).zip(scores).collect())
}

/// The same in short: `a=100 b=50`, or `-` without an opinion.
pub(crate) fn scored(score: &dyn Score, pod: &PodView, cluster: &Cluster) -> String {
    let Some(scores) = scores(score, pod, cluster) else { return "-".to_owned() };
    scores.iter().map(|(name, score)| format!("{name}={score}")).collect::<Vec<_>>().join(" ")
}

/// A world that knows every kind of storage, with these objects.
pub(crate) fn stored(
    claims: Vec<PersistentVolumeClaim>,
    volumes: Vec<PersistentVolume>,
    classes: Vec<StorageClass>,
) -> World {
    let world = World::by_hand();
    hold::<PersistentVolumeClaim>(&world, claims);
    hold::<PersistentVolume>(&world, volumes);
    hold::<StorageClass>(&world, classes);
    hold::<CSINode>(&world, vec![]);
    hold::<CSIDriver>(&world, vec![]);
    hold::<CSIStorageCapacity>(&world, vec![]);
    hold::<VolumeAttachment>(&world, vec![]);
    world
}

/// A claim of the namespace `n` for 1 GiB of the class `late`, which is bound when its pod has a node.
pub(crate) fn claim(name: &str, edit: impl FnOnce(&mut Value)) -> PersistentVolumeClaim {
    let mut value = json!({
        "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "7"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "late", "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    });
    edit(&mut value);
    object(value)
}

/// The same, bound to a volume.
pub(crate) fn bound(name: &str, volume: &str) -> PersistentVolumeClaim {
    claim(name, |claim| {
        claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
        claim["spec"]["volumeName"] = volume.into();
        claim["status"]["phase"] = "Bound".into();
    })
}

/// A free volume of the class `late`, of so many GiB.
pub(crate) fn volume(name: &str, size: u32, edit: impl FnOnce(&mut Value)) -> PersistentVolume {
    let mut value = json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": "9"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "late", "capacity": {"storage": format!("{size}Gi")},
        },
        "status": {"phase": "Available"},
    });
    edit(&mut value);
    object(value)
}

/// Makes a volume one that is on a node.
pub(crate) fn local(node: &'static str) -> impl FnOnce(&mut Value) {
    move |volume| {
        volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] = json!([{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
        ]}]);
    }
}

/// A class whose volumes somebody makes when a pod has its node.
pub(crate) fn class(name: &str, edit: impl FnOnce(&mut Value)) -> StorageClass {
    let mut value = json!({
        "metadata": {"name": name}, "provisioner": "maker", "volumeBindingMode": "WaitForFirstConsumer",
    });
    edit(&mut value);
    object(value)
}

/// A pod that uses claims.
pub(crate) fn using(name: &str, claims: &[&str]) -> PodView {
    pod(name, |pod| {
        let volumes =
            claims.iter().map(|claim| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}}));
        pod["spec"]["volumes"] = volumes.collect();
    })
}
