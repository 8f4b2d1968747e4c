use serde_json::{Value, json};

use super::*;
use crate::plugins::testing::{bound, claim, local, pod, using, volume};

#[test]
fn a_claim_is_bound_when_both_sides_say_so() {
    for (case, claim, is) in [
        ("bound", bound("c", "v"), true),
        ("nothing yet", claim("c", |_| ()), false),
        ("only named", claim("c", |claim| claim["spec"]["volumeName"] = "v".into()), false),
        ("named nothing", claim("c", |claim| claim["spec"]["volumeName"] = "".into()), false),
    ] {
        assert_eq!(is_bound(&claim), is, "{case}");
    }
}

#[test]
fn an_old_annotation_goes_before_the_field() {
    let old = |claim: &mut Value| claim["metadata"]["annotations"] = json!({OLD_CLASS: "old"});
    assert_eq!(class_of(&claim("c", old)), "old");
    assert_eq!(class_of(&claim("c", |_| ())), "late");
}

#[test]
fn a_volume_without_affinity_is_everywhere() {
    let labels = |host: &str| Labels::from([("kubernetes.io/hostname".to_owned(), host.to_owned())]);
    let here = Reach::of(&volume("v", 1, local("a")));
    assert!(here.includes(&labels("a")) && !here.includes(&labels("b")));
    assert!(Reach::of(&volume("v", 1, |_| ())).includes(&labels("b")));
}

#[test]
fn claims_that_are_made_for_a_pod_are_named_for_it() {
    let both = pod("p", |pod| {
        pod["spec"]["volumes"] = json!([
            {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"name": "given", "persistentVolumeClaim": {"claimName": "c"}},
            {"name": "none", "emptyDir": {}},
        ]);
    });
    let names: Vec<_> = claim_names(&both).map(|claim| (claim.name, claim.own)).collect();
    assert_eq!(names, [("p-own".to_owned(), true), ("c".to_owned(), false)]);
    assert_eq!(claim_names(&using("p", &[])).count(), 0);
}
