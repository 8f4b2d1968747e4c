use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

fn zoned(key: &'static str, value: &'static str) -> impl FnOnce(&mut Value) {
    move |volume| volume["metadata"]["labels"] = json!({key: value})
}

#[test]
fn a_volume_is_used_from_its_zones() {
    for (case, volume, passes) in [
        ("no label", volume("v", 1, |_| ()), "a b c"),
        ("one zone", volume("v", 1, zoned(ZONE, "x")), "a c"),
        ("two zones", volume("v", 1, zoned(ZONE, "x__y")), "a b c"),
        ("the old label", volume("v", 1, zoned(OLD_ZONE, "y")), "b c"),
        ("a region that no node is in", volume("v", 1, zoned(REGION, "r")), "c"),
        ("a label that makes no sense", volume("v", 1, zoned(ZONE, "")), "a b c"),
    ] {
        let world = stored(vec![bound("p", "v")], vec![volume], vec![]);
        let cluster = cluster_in(world, [node_in("x", "a"), node_in("y", "b"), node("c", |_| ())], []);
        assert_eq!(passing(&VolumeZone, &using("p", &["p"]), &cluster), passes, "{case}");
    }
}

#[test]
fn the_reason_is_the_one_people_know() {
    let world = stored(vec![bound("p", "v")], vec![volume("v", 1, zoned(ZONE, "x"))], vec![]);
    let cluster = cluster_in(world, [node_in("y", "b")], []);
    assert_eq!(
        rejected(&VolumeZone, &using("p", &["p"]), &cluster),
        ["b: ! node(s) had no available volume zone"]
    );
}

#[test]
fn claims_without_a_volume_wait_for_their_consumer_or_reject() {
    let immediate = |class: &mut Value| class["volumeBindingMode"] = "Immediate".into();
    let no_class = |claim: &mut Value| claim["spec"]["storageClassName"] = Value::Null;
    for (case, claims, classes, out) in [
        ("it waits", vec![claim("c", |_| ())], vec![class("late", |_| ())], vec![]),
        (
            "it should be bound",
            vec![claim("c", |_| ())],
            vec![class("late", immediate)],
            vec!["all: ! PersistentVolume had no name"],
        ),
        (
            "no class",
            vec![claim("c", no_class)],
            vec![],
            vec!["all: ! PersistentVolumeClaim had no pv name and storageClass name"],
        ),
        (
            "no such class",
            vec![claim("c", |_| ())],
            vec![],
            vec!["all: ! storageclass.storage.k8s.io \"late\" not found"],
        ),
        ("no such volume", vec![bound("c", "v")], vec![], vec!["all: ! persistentvolume \"v\" not found"]),
        ("no such claim", vec![], vec![], vec!["all: ! persistentvolumeclaim \"c\" not found"]),
    ] {
        let cluster = cluster_in(stored(claims, vec![], classes), [node_in("x", "a")], []);
        assert_eq!(rejected(&VolumeZone, &using("p", &["c"]), &cluster), out, "{case}");
    }
}
