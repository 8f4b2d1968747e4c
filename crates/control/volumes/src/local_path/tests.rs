use serde_json::{Value, json};

use super::*;
use crate::testing::{claim, said, volume};
use kedge_children::testing::{hold, noon, object, summary};

fn asking(edit: impl FnOnce(&mut Value)) -> PersistentVolumeClaim {
    claim("c", "1Gi", |claim| {
        claim["spec"]["storageClassName"] = CLASS.into();
        claim["metadata"]["annotations"] = json!({PROVISIONER: NAME, SELECTED_NODE: "n1"});
        edit(claim);
    })
}

fn node(name: &str, annotations: Value) -> Node {
    object(json!({"metadata": {
        "name": name, "labels": {"kubernetes.io/hostname": format!("{name}.host")}, "annotations": annotations,
    }}))
}

fn planned(claim: &PersistentVolumeClaim, volumes: Vec<PersistentVolume>, nodes: Vec<Node>) -> Plan {
    let world = World::by_hand();
    hold(&world, vec![class(true)]);
    hold(&world, volumes);
    hold(&world, nodes);
    Provisioner.plan(claim, &world, noon()).unwrap()
}

#[test]
fn a_claim_whose_node_is_known_gets_a_volume_there() {
    let there = || vec![node("n1", json!({}))];
    let failed = "Warning ProvisioningFailed";
    let done = "Normal ProvisioningSucceeded";
    for (case, claim, volumes, nodes, changes, notes) in [
        ("asked", asking(|_| {}), vec![], there(), "+PersistentVolume", done),
        ("made", asking(|_| {}), vec![volume("pvc-uid-c", "1Gi", |_| {})], there(), "", ""),
        (
            "no node yet",
            asking(|claim| claim["metadata"]["annotations"] = json!({PROVISIONER: NAME})),
            vec![],
            there(),
            "",
            "",
        ),
        ("its node is gone", asking(|_| {}), vec![], vec![], "~PersistentVolumeClaim/c", failed),
        (
            "another's",
            asking(|claim| claim["metadata"]["annotations"][PROVISIONER] = "example.test/x".into()),
            vec![],
            there(),
            "",
            "",
        ),
        ("bound", asking(|claim| claim["spec"]["volumeName"] = "v".into()), vec![], there(), "", ""),
        ("block", asking(|claim| claim["spec"]["volumeMode"] = "Block".into()), vec![], there(), "", failed),
        (
            "for many nodes",
            asking(|claim| claim["spec"]["accessModes"] = json!(["ReadWriteMany"])),
            vec![],
            there(),
            "",
            failed,
        ),
    ] {
        let plan = planned(&claim, volumes, nodes);
        assert_eq!((&*summary(&plan), &*said(&plan)), (changes, notes), "{case}");
    }
}

#[test]
fn the_volume_is_a_folder_of_that_node() {
    let made = |annotations: Value| {
        let plan = planned(&asking(|_| {}), vec![], vec![node("n1", annotations)]);
        let Some(Action::Create { object, .. }) = plan.actions.first() else { panic!("nothing is made") };
        object.clone()
    };
    let usual = made(json!({}));
    assert_eq!(usual["metadata"]["name"], "pvc-uid-c");
    assert_eq!(usual["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(usual["metadata"]["annotations"], json!({PROVISIONED_BY: NAME, made::NODE: "n1"}));
    assert_eq!(
        usual["spec"],
        json!({
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "volumeMode": "Filesystem",
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "n", "name": "c",
                "uid": "uid-c", "resourceVersion": "1",
            },
            "hostPath": {"path": "/var/lib/kedge/volumes/pvc-uid-c", "type": "DirectoryOrCreate"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1.host"]},
            ]}]}},
            "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "local-path",
        })
    );
    let elsewhere = made(json!({FOLDER: "/data/volumes/"}));
    assert_eq!(elsewhere["spec"]["hostPath"]["path"], "/data/volumes/pvc-uid-c");
}

#[test]
fn what_is_left_behind_waits_for_its_node() {
    for (case, phase, policy, leaving, nodes, expected) in [
        ("in use", "Bound", "Delete", false, vec![], ""),
        ("left", "Released", "Delete", false, vec![], "-PersistentVolume/v"),
        ("kept", "Released", "Retain", false, vec![], ""),
        ("its node will see to it", "Released", "Delete", true, vec![node("n1", json!({}))], ""),
        ("its node is gone", "Released", "Delete", true, vec![], "~PersistentVolume/v"),
    ] {
        let world = World::by_hand();
        hold(&world, nodes);
        let volume = volume("v", "1Gi", |volume| {
            volume["metadata"]["finalizers"] = json!([FINALIZER]);
            volume["metadata"]["annotations"] = json!({PROVISIONED_BY: NAME, made::NODE: "n1"});
            volume["spec"]["persistentVolumeReclaimPolicy"] = policy.into();
            volume["status"]["phase"] = phase.into();
            if leaving {
                volume["metadata"]["deletionTimestamp"] = "2030-01-01T11:00:00Z".into();
            }
        });
        assert_eq!(summary(&Remover.plan(&volume, &world, noon()).unwrap()), expected, "{case}");
    }
}

#[test]
fn the_class_is_made_once() {
    let system = |annotations: Value| -> Namespace {
        object(json!({"metadata": {"name": "kube-system", "annotations": annotations}}))
    };
    let planned = |namespace: &Namespace, classes: Vec<StorageClass>| {
        let world = World::by_hand();
        hold(&world, classes);
        Class.plan(namespace, &world, noon()).unwrap()
    };
    let fresh = system(json!({}));
    assert_eq!(summary(&planned(&fresh, vec![])), "+StorageClass ~Namespace/kube-system");
    assert_eq!(summary(&planned(&fresh, vec![class(true)])), "~Namespace/kube-system", "after a crash");
    assert_eq!(planned(&system(json!({CLASS_MADE: "made"})), vec![]), Plan::default(), "a user deleted it");
    let mut other = class(true);
    other.metadata.name = Some("other".to_owned());
    let plan = planned(&fresh, vec![other]);
    let Some(Action::Create { object, .. }) = plan.actions.first() else { panic!("nothing is made") };
    assert!(object["metadata"]["annotations"].is_null(), "there is a default already");
}
