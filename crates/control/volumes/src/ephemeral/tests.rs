use serde_json::json;

use super::*;
use crate::testing::{claim, said};
use kedge_children::testing::{hold, noon, pod, summary};

fn user() -> Pod {
    pod("p", "", |pod| {
        pod["spec"]["volumes"] = json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }}}]);
    })
}

fn planned(pod: &Pod, claims: Vec<PersistentVolumeClaim>) -> Plan {
    let world = World::by_hand();
    hold(&world, claims);
    EphemeralVolumes.plan(pod, &world, noon()).unwrap()
}

#[test]
fn a_pod_gets_a_claim_of_its_own() {
    let owned = |uid: &str| {
        claim("p-scratch", "1Gi", |claim| {
            claim["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": true}]);
        })
    };
    let leaving = || {
        let mut pod = user();
        pod.metadata.deletion_timestamp = kedge_children::conditions::at(noon());
        pod
    };
    for (case, pod, claims, changes, notes) in [
        ("none yet", user(), vec![], "+PersistentVolumeClaim", ""),
        ("there", user(), vec![owned("p")], "", ""),
        ("its namesake's", user(), vec![owned("old")], "", "Warning FailedBinding"),
        ("a stranger's", user(), vec![claim("p-scratch", "1Gi", |_| {})], "", "Warning FailedBinding"),
        ("leaving", leaving(), vec![], "", ""),
    ] {
        let plan = planned(&pod, claims);
        assert_eq!((&*summary(&plan), &*said(&plan)), (changes, notes), "{case}");
    }
    let plan = planned(&user(), vec![]);
    let Some(Action::Create { object, namespace, .. }) = plan.actions.first() else { panic!() };
    assert_eq!(
        (&**namespace, &object["metadata"]["name"], &object["metadata"]["labels"]["a"]),
        ("n", &json!("p-scratch"), &json!("b"))
    );
    let plan = planned(&user(), vec![claim("p-scratch", "1Gi", |_| {})]);
    assert_eq!(
        plan.actions[0].to_string(),
        "Warning FailedBinding: ephemeral volume scratch: PVC n/p-scratch was not created for pod n/p (pod is not owner)"
    );
}
