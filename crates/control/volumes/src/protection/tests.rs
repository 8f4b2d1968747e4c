use serde_json::json;

use super::*;
use crate::testing::{claim, decided, volume};
use kedge_children::testing::{hold, noon, pod, summary};

const LEFT: &str = "2030-01-01T11:00:00Z";

fn user(node: &str, phase: &str) -> Pod {
    pod("p", "", |pod| {
        pod["spec"]["nodeName"] = node.into();
        pod["status"]["phase"] = phase.into();
        pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    })
}

#[test]
fn a_claim_stays_while_a_placed_pod_names_it() {
    let marked = |finalizers: &[&str]| {
        claim("c", "1Gi", |claim| {
            claim["metadata"]["finalizers"] = json!(finalizers);
            claim["metadata"]["deletionTimestamp"] = LEFT.into();
        })
    };
    let goes = "~PersistentVolumeClaim/c";
    for (case, claim, known, live, expected) in [
        ("an old one is protected", claim("c", "1Gi", |_| {}), vec![], vec![], goes),
        ("unused", marked(&[OF_CLAIMS]), vec![], vec![], goes),
        ("used", marked(&[OF_CLAIMS]), vec![user("n1", "Running")], vec![], ""),
        ("used, not heard of yet", marked(&[OF_CLAIMS]), vec![], vec![user("n1", "Running")], ""),
        ("used by one that ended", marked(&[OF_CLAIMS]), vec![user("n1", "Succeeded")], vec![], ""),
        ("its pod has no node", marked(&[OF_CLAIMS]), vec![user("", "Pending")], vec![], goes),
        ("another's finalizer", marked(&["example.test/x"]), vec![], vec![], ""),
    ] {
        let world = World::by_hand();
        hold(&world, known);
        assert_eq!(summary(&decided(&Claims, &claim, &world, &live)), expected, "{case}");
    }
}

#[test]
fn a_pods_own_claim_goes_when_the_pod_has_ended() {
    let own = claim("p-v", "1Gi", |claim| {
        claim["metadata"]["finalizers"] = json!([OF_CLAIMS]);
        claim["metadata"]["deletionTimestamp"] = LEFT.into();
        claim["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": true}]);
    });
    for (phase, expected) in [("Running", ""), ("Succeeded", "~PersistentVolumeClaim/p-v")] {
        let pod = pod("p", "", |pod| {
            pod["status"]["phase"] = phase.into();
            pod["spec"]["volumes"] = json!([{"name": "v", "ephemeral": {}}]);
        });
        let world = World::by_hand();
        hold(&world, vec![pod]);
        assert_eq!(summary(&decided(&Claims, &own, &world, &vec![])), expected, "{phase}");
    }
}

#[test]
fn a_volume_stays_while_it_is_bound() {
    for (case, finalizers, leaving, phase, expected) in [
        ("an old one is protected", json!([]), false, "Available", "~PersistentVolume/v"),
        ("bound", json!([OF_VOLUMES]), true, "Bound", ""),
        ("left behind", json!([OF_VOLUMES]), true, "Released", "~PersistentVolume/v"),
        ("nobody asked", json!([OF_VOLUMES]), false, "Released", ""),
    ] {
        let volume = volume("v", "1Gi", |volume| {
            volume["metadata"]["finalizers"] = finalizers;
            volume["status"]["phase"] = phase.into();
            if leaving {
                volume["metadata"]["deletionTimestamp"] = LEFT.into();
            }
        });
        let plan = Volumes.plan(&volume, &World::by_hand(), noon()).unwrap();
        assert_eq!(summary(&plan), expected, "{case}");
    }
}
