use k8s_openapi::api::core::v1::PersistentVolume;
use kedge_children::testing::{hold, object};
use serde_json::json;

use super::*;
use crate::plugins::testing::*;

const FULL: &str = "node(s) exceed max volume count";

fn of_driver(name: &str) -> PersistentVolume {
    volume(name, 1, |volume| volume["spec"]["csi"] = json!({"driver": "maker", "volumeHandle": name}))
}

/// The node `a` can have `limit` volumes of the driver, `b` any number.
fn limited(world: World, limit: i32, pods: Vec<PodView>) -> Cluster {
    hold::<CSINode>(
        &world,
        vec![object(json!({
            "metadata": {"name": "a"},
            "spec": {"drivers": [{"name": "maker", "nodeID": "a", "allocatable": {"count": limit}}]},
        }))],
    );
    cluster_in(world, [node("a", |_| ()), node("b", |_| ())], pods.iter().map(|pod| on("a", pod)))
}

#[test]
fn a_node_has_room_for_so_many_volumes_of_a_driver() {
    let volumes = || vec![of_driver("v"), of_driver("w"), volume("x", 1, |_| ())];
    let claims = || vec![bound("c", "v"), bound("d", "w"), bound("e", "x"), claim("f", |_| ())];
    for (case, limit, there, wanted, full) in [
        ("room", 2, vec![using("q", &["c"])], using("p", &["d"]), false),
        ("no room", 1, vec![using("q", &["c"])], using("p", &["d"]), true),
        ("the same volume again", 1, vec![using("q", &["c"])], using("p", &["c"]), false),
        ("one that is still to be made", 1, vec![using("q", &["c"])], using("p", &["f"]), true),
        ("one of no driver", 1, vec![using("q", &["c"])], using("p", &["e"]), false),
        ("none at all", 0, vec![], using("p", &["c"]), true),
    ] {
        let world = stored(claims(), volumes(), vec![class("late", |_| ())]);
        let out: Vec<String> = if full { vec![format!("a: {FULL}")] } else { vec![] };
        assert_eq!(rejected(&NodeVolumeLimits, &wanted, &limited(world, limit, there)), out, "{case}");
    }
}

#[test]
fn what_is_still_attached_counts() {
    let world = stored(vec![bound("c", "v"), bound("d", "w")], vec![of_driver("v"), of_driver("w")], vec![]);
    hold::<VolumeAttachment>(
        &world,
        vec![object(json!({
            "metadata": {"name": "x"},
            "spec": {"attacher": "maker", "nodeName": "a", "source": {"persistentVolumeName": "w"}},
        }))],
    );
    let cluster = limited(world, 1, vec![]);
    assert_eq!(rejected(&NodeVolumeLimits, &using("p", &["c"]), &cluster), [format!("a: {FULL}")]);
    assert!(rejected(&NodeVolumeLimits, &using("p", &["d"]), &cluster).is_empty());
}

#[test]
fn a_missing_claim_says_so() {
    let cluster = limited(stored(vec![], vec![], vec![]), 1, vec![]);
    let reason = "all: ! looking up PVC n/c: persistentvolumeclaim \"c\" not found";
    assert_eq!(rejected(&NodeVolumeLimits, &using("p", &["c"]), &cluster), [reason]);
}
