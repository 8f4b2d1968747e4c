mod crashes;

use serde_json::{Value, json};

use super::*;
use crate::testing::{claim, decided, said, volume};
use kedge_children::testing::{hold, object, pod, status, summary};

fn class(name: &str, edit: impl FnOnce(&mut Value)) -> StorageClass {
    let mut value = json!({
        "metadata": {"name": name, "creationTimestamp": "2030-01-01T00:00:00Z"},
        "provisioner": "example.test/disks", "volumeBindingMode": "Immediate",
    });
    edit(&mut value);
    object(value)
}

fn late(name: &str) -> StorageClass {
    class(name, |class| class["volumeBindingMode"] = "WaitForFirstConsumer".into())
}

fn planned(
    claim: &PersistentVolumeClaim,
    volumes: Vec<PersistentVolume>,
    classes: Vec<StorageClass>,
    pods: Vec<Pod>,
) -> Plan {
    let world = World::by_hand();
    let named = volumes.iter().find(|volume| volume.metadata.name.as_deref() == volume_name(claim)).cloned();
    hold(&world, volumes);
    hold(&world, classes);
    hold(&world, pods);
    decided(&Claims, claim, &world, &named)
}

#[test]
fn a_claim_that_names_no_volume_finds_one_or_says_why_not() {
    let plain = || volume("v", "1Gi", |_| {});
    let of = |name: Value| claim("c", "1Gi", |claim| claim["spec"]["storageClassName"] = name);
    let tied = "~PersistentVolume/v ~PersistentVolumeClaim/c";
    let default = || class("std", |class| class["metadata"]["annotations"] = json!({DEFAULT: "true"}));
    let mut on_node = of("late".into());
    annotations::set(&mut on_node, SELECTED_NODE, "n1");
    let mut leaving = of("".into());
    leaving.metadata.deletion_timestamp = kedge_children::conditions::at(kedge_children::testing::noon());
    for (case, claim, volumes, classes, changes, notes) in [
        ("one fits", of("".into()), vec![plain()], vec![], tied, ""),
        ("none fits", of("".into()), vec![], vec![], "", "Normal FailedBinding"),
        ("no class yet", of(Value::Null), vec![], vec![], "", "Normal FailedBinding"),
        ("the default came later", of(Value::Null), vec![], vec![default()], "~PersistentVolumeClaim/c", ""),
        ("no class is a choice", of("".into()), vec![], vec![default()], "", "Normal FailedBinding"),
        ("a fitting one before the default", of(Value::Null), vec![plain()], vec![default()], tied, ""),
        ("no such class", of("gone".into()), vec![], vec![], "", "Warning ProvisioningFailed"),
        (
            "somebody is asked",
            of("std".into()),
            vec![],
            vec![default()],
            "~PersistentVolumeClaim/c",
            "Normal ExternalProvisioning",
        ),
        (
            "nobody can be asked",
            of("none".into()),
            vec![],
            vec![class("none", |class| class["provisioner"] = "kubernetes.io/no-provisioner".into())],
            "",
            "Warning ProvisioningFailed",
        ),
        ("it waits", of("late".into()), vec![], vec![late("late")], "", "Normal WaitForFirstConsumer"),
        (
            "its node is known",
            on_node,
            vec![],
            vec![late("late")],
            "~PersistentVolumeClaim/c",
            "Normal ExternalProvisioning",
        ),
        ("it is leaving", leaving, vec![plain()], vec![], "", ""),
    ] {
        let plan = planned(&claim, volumes, classes, vec![]);
        assert_eq!((&*summary(&plan), &*said(&plan)), (changes, notes), "{case}");
    }
}

const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";

#[test]
fn the_newest_default_is_assigned() {
    let default = |name: &str, since: &str| {
        class(name, |class| {
            class["metadata"]["annotations"] = json!({DEFAULT: "true"});
            class["metadata"]["creationTimestamp"] = since.into();
        })
    };
    let claim = claim("c", "1Gi", |claim| claim["spec"]["storageClassName"] = Value::Null);
    let classes = vec![default("old", "2029-01-01T00:00:00Z"), default("new", "2030-01-01T00:00:00Z")];
    let plan = planned(&claim, vec![], classes, vec![]);
    let Some(Action::Change { patch, .. }) = plan.actions.first() else { panic!("nothing is assigned") };
    assert_eq!(patch, &json!({"spec": {"storageClassName": "new"}}));
}

#[test]
fn a_waiting_claim_says_for_whom() {
    let claim = claim("c", "1Gi", |claim| claim["spec"]["storageClassName"] = "late".into());
    let user = |name: &str, node: &str| {
        pod(name, "", |pod| {
            pod["spec"]["nodeName"] = node.into();
            pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
        })
    };
    for (pods, expected) in [
        (vec![], "Normal WaitForFirstConsumer: waiting for first consumer to be created before binding"),
        (vec![user("a", "")], "Normal WaitForPodScheduled: waiting for pod a to be scheduled"),
        (
            vec![user("a", ""), user("b", "")],
            "Normal WaitForPodScheduled: waiting for pods a,b to be scheduled",
        ),
        (
            vec![user("a", "n1")],
            "Normal WaitForFirstConsumer: waiting for first consumer to be created before binding",
        ),
    ] {
        let plan = planned(&claim, vec![], vec![late("late")], pods);
        assert_eq!(plan.actions[0].to_string(), expected);
    }
}

#[test]
fn a_claim_that_names_a_volume_gets_that_or_waits() {
    let naming = claim("c", "1Gi", |claim| claim["spec"]["volumeName"] = "v".into());
    let of = |reference: Value| volume("v", "1Gi", |volume| volume["spec"]["claimRef"] = reference);
    let tied = "~PersistentVolume/v ~PersistentVolumeClaim/c";
    for (case, volumes, changes, notes) in [
        ("not there", vec![], "", ""),
        ("free", vec![of(Value::Null)], tied, ""),
        ("reserved for it", vec![of(json!({"namespace": "n", "name": "c"}))], tied, ""),
        ("another's", vec![of(json!({"namespace": "n", "name": "d"}))], "", "Warning FailedBinding"),
        ("too small", vec![volume("v", "1Mi", |_| {})], "", "Warning VolumeMismatch"),
    ] {
        let plan = planned(&naming, volumes, vec![], vec![]);
        assert_eq!((&*summary(&plan), &*said(&plan)), (changes, notes), "{case}");
    }
    let plan = planned(&naming, vec![of(Value::Null)], vec![], vec![]);
    let Some(Action::Change { patch, .. }) =
        plan.actions.iter().find(|action| action.to_string().starts_with("change PersistentVolumeClaim n/c"))
    else {
        panic!("the claim is not tied")
    };
    assert_eq!(patch["metadata"]["annotations"], json!({BIND_COMPLETED: "yes"}), "the user chose it");
}

#[test]
fn a_bound_claim_loses_its_volume_only_for_good() {
    let bound = |phase: &str| {
        claim("c", "1Gi", |claim| {
            claim["metadata"]["annotations"] = json!({BIND_COMPLETED: "yes"});
            claim["spec"]["volumeName"] = "v".into();
            claim["status"] = json!({
                "phase": phase, "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
            });
        })
    };
    let of = |uid: &str| {
        volume("v", "1Gi", |volume| {
            volume["spec"]["claimRef"] = json!({"namespace": "n", "name": "c", "uid": uid});
            volume["status"]["phase"] = "Bound".into();
        })
    };
    for (case, volumes, phase, notes) in [
        ("all is well", vec![of("uid-c")], Value::Null, ""),
        ("gone", vec![], "Lost".into(), "Warning ClaimLost"),
        ("another's", vec![of("other")], "Lost".into(), "Warning ClaimMisbound"),
    ] {
        let plan = planned(&bound("Bound"), volumes, vec![], vec![]);
        assert_eq!((&status(&plan)["phase"], &*said(&plan)), (&phase, notes), "{case}");
    }
    let plan = planned(&bound("Lost"), vec![of("uid-c")], vec![], vec![]);
    assert_eq!(status(&plan)["phase"], "Bound", "it came back");
    let world = World::by_hand();
    hold::<PersistentVolume>(&world, vec![]);
    let first = Claims.decide(&bound("Bound"), &world, None, kedge_children::testing::noon()).unwrap();
    assert_eq!(first, Verdict::Prove, "a silent cache is no proof");
}
