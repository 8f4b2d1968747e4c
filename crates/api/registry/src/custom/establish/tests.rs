//! Statuses of definitions.

use serde_json::{Value, json};

use super::super::names::Taken;
use super::{is_true, plan};

const NOON: &str = "2026-01-01T12:00:00Z";

fn definition(group: &str, status: Value) -> Value {
    json!({
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {"group": group, "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}},
        "status": status,
    })
}

fn conditions(status: &Value) -> String {
    let all = status["conditions"].as_array().unwrap();
    let one = |c: &Value| {
        let text = |field: &str| c[field].as_str().unwrap();
        format!("{}={} {}", text("type"), text("status"), text("reason"))
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_definition_with_free_names_is_established() {
    let fresh =
        json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]});
    let found = plan(&definition("example.com", fresh), &Taken::default(), NOON);
    assert!(found.established);
    assert_eq!(
        conditions(&found.status),
        "NamesAccepted=True NoConflicts, Established=True InitialNamesAccepted"
    );
    assert_eq!(found.status["acceptedNames"]["listKind"], "WidgetList");
    assert_eq!(found.status["storedVersions"], json!(["v1"]));
    let again =
        plan(&definition("example.com", found.status.clone()), &Taken::default(), "2027-01-01T00:00:00Z");
    assert_eq!(again.status, found.status, "a second look changes nothing");
}

#[test]
fn a_definition_with_taken_names_waits_and_one_that_was_established_stays_so() {
    let mut taken = Taken::default();
    taken.give(
        &"things.example.com".into(),
        &json!({"plural": "things", "singular": "widget", "kind": "Thing"}),
    );
    let found = plan(&definition("example.com", json!({})), &taken, NOON);
    assert!(!found.established);
    assert_eq!(
        conditions(&found.status),
        "NamesAccepted=False SingularConflict, Established=False NotAccepted"
    );
    let established =
        json!({"conditions": [{"type": "Established", "status": "True", "reason": "InitialNamesAccepted"}]});
    let found = plan(&definition("example.com", established), &taken, NOON);
    assert!(found.established && is_true(&found.status, "Established"));
}

#[test]
fn groups_of_kubernetes_need_an_approval() {
    for (annotation, said) in [
        (
            json!("https://example.com/review/1"),
            "KubernetesAPIApprovalPolicyConformant=True ApprovedAnnotation",
        ),
        (
            json!("unapproved, experimental"),
            "KubernetesAPIApprovalPolicyConformant=False UnapprovedAnnotation",
        ),
        (Value::Null, "KubernetesAPIApprovalPolicyConformant=False MissingAnnotation"),
    ] {
        let mut asked = definition("things.k8s.io", json!({}));
        asked["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": annotation});
        let found = conditions(&plan(&asked, &Taken::default(), NOON).status);
        assert!(found.ends_with(said), "{annotation}: {found}");
    }
}
