use serde_json::{Value, json};

use super::*;
use crate::testing::{claim, decided, said, volume};
use kedge_children::testing::{hold, noon, status, summary};

fn tied(uid: &str) -> Value {
    json!({"namespace": "n", "name": "c", "uid": uid})
}

/// What is planned for a volume if this is known of its claim.
fn planned(volume: &PersistentVolume, claim: Option<PersistentVolumeClaim>) -> Plan {
    let world = World::by_hand();
    hold(&world, claim.clone().into_iter().collect());
    decided(&Volumes, volume, &world, &claim)
}

fn told(plan: &Plan) -> (String, String, String) {
    let phase = status(plan)["phase"].as_str().unwrap_or_default().to_owned();
    (phase, summary(plan), said(plan))
}

#[test]
fn a_volume_is_what_its_claim_makes_of_it() {
    let waiting = || Some(claim("c", "1Gi", |_| {}));
    let naming = |name: &str| Some(claim("c", "1Gi", |claim| claim["spec"]["volumeName"] = name.into()));
    let other = || Some(claim("c", "1Gi", |claim| claim["metadata"]["uid"] = "new".into()));
    let block = || Some(claim("c", "1Gi", |claim| claim["spec"]["volumeMode"] = "Block".into()));
    let both = "Warning VolumeMismatch, Warning VolumeMismatch";
    for (case, reference, phase, claim, status, changes, notes) in [
        ("nobody's", Value::Null, "Pending", None, "Available", "", ""),
        ("reserved", json!({"namespace": "n", "name": "c"}), "Pending", waiting(), "Available", "", ""),
        ("half tied", tied("uid-c"), "Available", waiting(), "", "", ""),
        ("tied", tied("uid-c"), "Available", naming("v"), "Bound", "", ""),
        ("its claim is gone", tied("uid-c"), "Bound", None, "Released", "", ""),
        ("its claim was made anew", tied("uid-c"), "Bound", other(), "Released", "", ""),
        ("its claim went elsewhere", tied("uid-c"), "Bound", naming("w"), "", "~PersistentVolume/v", ""),
        ("kept", tied("uid-c"), "Released", None, "", "", ""),
        ("of another mode", tied("uid-c"), "Available", block(), "", "", both),
    ] {
        let volume = volume("v", "1Gi", |volume| {
            volume["spec"]["claimRef"] = reference;
            volume["status"]["phase"] = phase.into();
        });
        let expected = (status.to_owned(), changes.to_owned(), notes.to_owned());
        assert_eq!(told(&planned(&volume, claim)), expected, "{case}");
    }
}

#[test]
fn what_is_left_behind_goes_as_its_policy_says() {
    for (policy, annotation, phase, notes) in [
        ("Retain", Value::Null, "", ""),
        ("Recycle", Value::Null, "Failed", "Warning VolumeFailedRecycle"),
        ("Delete", Value::Null, "Failed", "Warning VolumeFailedDelete"),
        (
            "Delete",
            json!({PROVISIONED_BY: "kubernetes.io/host-path"}),
            "Failed",
            "Warning VolumeFailedDelete",
        ),
        ("Delete", json!({PROVISIONED_BY: "example.test/disks"}), "", ""),
    ] {
        let left = |phase: &str| {
            volume("v", "1Gi", |volume| {
                volume["spec"]["claimRef"] = tied("uid-c");
                volume["spec"]["persistentVolumeReclaimPolicy"] = policy.into();
                volume["metadata"]["annotations"] = annotation.clone();
                volume["status"]["phase"] = phase.into();
            })
        };
        let expected = (phase.to_owned(), String::new(), notes.to_owned());
        assert_eq!(told(&planned(&left("Released"), None)), expected, "{policy} {annotation}");
        assert_eq!(told(&planned(&left("Bound"), None)).0, "Released", "said first: {policy} {annotation}");
        assert_eq!(planned(&left("Failed"), None), Plan::default(), "said once: {policy} {annotation}");
    }
}

#[test]
fn a_silent_cache_is_no_proof() {
    let volume = volume("v", "1Gi", |volume| volume["spec"]["claimRef"] = tied("uid-c"));
    let world = World::by_hand();
    hold::<PersistentVolumeClaim>(&world, vec![]);
    assert_eq!(Volumes.decide(&volume, &world, None, noon()).unwrap(), Verdict::Prove);
    let live = Some(claim("c", "1Gi", |claim| claim["spec"]["volumeName"] = "v".into()));
    let Verdict::Do(plan) = Volumes.decide(&volume, &world, Some(&live), noon()).unwrap() else { panic!() };
    assert_eq!(status(&plan)["phase"], "Bound");
}

#[test]
fn a_reservation_outlives_a_tie() {
    for (annotations, reference) in [
        (json!({BOUND_BY_CONTROLLER: "yes"}), Value::Null),
        (json!({}), json!({"uid": null, "resourceVersion": null})),
    ] {
        let volume = volume("v", "1Gi", |volume| {
            volume["spec"]["claimRef"] = tied("uid-c");
            volume["spec"]["claimRef"]["resourceVersion"] = "3".into();
            volume["metadata"]["annotations"] = annotations;
        });
        let Some(Action::Change { patch, .. }) = set_free(&volume) else { panic!("nothing is changed") };
        assert_eq!(patch["spec"]["claimRef"], reference);
    }
}
