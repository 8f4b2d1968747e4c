use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::*;

const TAKEN: &str = "node(s) had no available disk";
const IN_USE: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

fn with_disk(name: &str, disk: Value) -> PodView {
    pod(name, |pod| {
        let mut volume = disk;
        volume["name"] = "d".into();
        pod["spec"]["volumes"] = json!([volume]);
    })
}

#[test]
fn a_disk_is_written_by_one_pod_of_a_node() {
    let gce =
        |name: &str, read_only: bool| json!({"gcePersistentDisk": {"pdName": name, "readOnly": read_only}});
    let ebs = |id: &str| json!({"awsElasticBlockStore": {"volumeID": id, "readOnly": true}});
    let iscsi = |iqn: &str, read_only: bool| json!({"iscsi": {"targetPortal": "t", "iqn": iqn, "lun": 0, "readOnly": read_only}});
    let rbd = |monitor: &str, image: &str, read_only: bool| json!({"rbd": {"monitors": [monitor], "image": image, "readOnly": read_only}});
    for (case, there, wanted, clashes) in [
        ("the same disk", gce("d", false), gce("d", false), true),
        ("one reads, one writes", gce("d", true), gce("d", false), true),
        ("both read", gce("d", true), gce("d", true), false),
        ("another disk", gce("d", false), gce("e", false), false),
        ("not even to read", ebs("d"), ebs("d"), true),
        ("another volume", ebs("d"), ebs("e"), false),
        ("the same target", iscsi("i", false), iscsi("i", true), true),
        ("both read the target", iscsi("i", true), iscsi("i", true), false),
        ("the same image", rbd("m", "i", false), rbd("m", "i", false), true),
        ("of another cluster", rbd("m", "i", false), rbd("k", "i", false), false),
        ("another kind of disk", gce("d", false), ebs("d"), false),
    ] {
        let cluster = cluster([node("a", |_| ()), node("b", |_| ())], [on("a", &with_disk("q", there))]);
        let out: Vec<String> = if clashes { vec![format!("a: {TAKEN}")] } else { vec![] };
        assert_eq!(rejected(&VolumeRestrictions, &with_disk("p", wanted), &cluster), out, "{case}");
    }
}

#[test]
fn a_claim_for_one_pod_is_for_one_pod() {
    let exclusive =
        |name: &str| claim(name, |claim| claim["spec"]["accessModes"] = json!(["ReadWriteOncePod"]));
    for (case, claims, user, out) in [
        ("unused", vec![exclusive("c")], using("q", &["d"]), vec![]),
        (
            "in use, wherever",
            vec![exclusive("c")],
            using("q", &["c"]),
            vec![format!("a: {IN_USE}"), format!("b: {IN_USE}")],
        ),
        ("for many", vec![claim("c", |_| ())], using("q", &["c"]), vec![]),
        (
            "missing",
            vec![],
            using("q", &["d"]),
            vec!["all: ! persistentvolumeclaim \"c\" not found".to_owned()],
        ),
    ] {
        let nodes = [node("a", |_| ()), node("b", |_| ())];
        let cluster = cluster_in(stored(claims, vec![], vec![]), nodes, [on("a", &user)]);
        assert_eq!(rejected(&VolumeRestrictions, &using("p", &["c"]), &cluster), out, "{case}");
    }
}

#[test]
fn removing_the_user_frees_the_claim() {
    let exclusive = claim("c", |claim| claim["spec"]["accessModes"] = json!(["ReadWriteOncePod"]));
    let user = on("a", &using("q", &["c"]));
    let cluster = cluster_in(stored(vec![exclusive], vec![], vec![]), [node("a", |_| ())], [user.clone()]);
    let pod = using("p", &["c"]);
    let mut prepared = VolumeRestrictions.prepare(&pod, &cluster).ok().unwrap();
    let node = cluster.node("a").unwrap();
    prepared.remove(&user, node);
    assert!(rejected_by(&*prepared, &cluster).is_empty());
    prepared.add(&user, node);
    assert_eq!(rejected_by(&*prepared, &cluster), [format!("a: {IN_USE}")]);
}
