//! What is legal in `metadata`, and what changes nothing may make.

use kedge_kinds::field::Errors;
use serde_json::{Value, json};

use super::{carry_over, count_generation, generate, is_finished, validate, validate_update};
use crate::strategy::NameRule;

fn wrong(metadata: Value, rule: NameRule) -> Vec<String> {
    let kind = kedge_kinds::builtin().by_kind("", "v1", "ConfigMap").unwrap();
    let mut errors = Errors::default();
    validate(kind, rule, &json!({"metadata": metadata}), &mut errors);
    errors.into_causes().into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

#[test]
fn names_what_is_wrong_and_where() {
    let owner =
        |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": true});
    for (metadata, rule, field, said) in [
        (
            json!({"name": "A_b"}),
            NameRule::Subdomain,
            "metadata.name",
            "Invalid value: \"A_b\": a lowercase RFC 1123 subdomain",
        ),
        (
            json!({"name": "a.b"}),
            NameRule::Label,
            "metadata.name",
            "Invalid value: \"a.b\": must not contain dots",
        ),
        (
            json!({"name": "1a"}),
            NameRule::Label1035,
            "metadata.name",
            "Invalid value: \"1a\": a DNS-1035 label",
        ),
        (
            json!({"name": "a/b"}),
            NameRule::PathSegment,
            "metadata.name",
            "Invalid value: \"a/b\": may not contain '/'",
        ),
        (
            json!({"name": "a", "labels": {"x y": "1"}}),
            NameRule::Subdomain,
            "metadata.labels",
            "Invalid value: \"x y\": name part",
        ),
        (
            json!({"name": "a", "labels": {"x": "-"}}),
            NameRule::Subdomain,
            "metadata.labels",
            "Invalid value: \"-\": a valid label",
        ),
        (
            json!({"name": "a", "annotations": {"": "1"}}),
            NameRule::Subdomain,
            "metadata.annotations",
            "Invalid value: \"\": name part must be non-empty",
        ),
        (
            json!({"name": "a", "finalizers": ["nodomain"]}),
            NameRule::Subdomain,
            "metadata.finalizers[0]",
            "Invalid value: \"nodomain\": name is neither a standard finalizer name nor is it fully qualified",
        ),
        (
            json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": ""}]}),
            NameRule::Subdomain,
            "metadata.ownerReferences.uid",
            "Invalid value: \"\": must not be empty",
        ),
        (
            json!({"name": "a", "ownerReferences": [owner("x"), owner("y")]}),
            NameRule::Subdomain,
            "metadata.ownerReferences",
            "Invalid value: [{",
        ),
        (
            json!({"name": "a", "annotations": {"big": "x".repeat(300_000)}}),
            NameRule::Subdomain,
            "metadata.annotations",
            "Too long: may not be more than 262144 bytes",
        ),
    ] {
        let mut metadata = metadata;
        metadata["namespace"] = "default".into();
        let found = wrong(metadata.clone(), rule);
        let expected = format!("{field}: {said}");
        assert!(found.iter().any(|one| one.starts_with(&expected)), "{expected}\nfound {found:?}");
    }
    let fine = json!({"name": "a.b-c", "namespace": "default", "generateName": "x-", "labels": {"a.test/b": "C_1", "empty": ""},
        "finalizers": ["orphan", "a.test/b"]});
    assert_eq!(wrong(fine, NameRule::Subdomain), [""; 0]);
}

#[test]
fn what_the_server_set_stays() {
    let old = json!({"metadata": {"name": "a", "uid": "u", "creationTimestamp": "t", "generation": 3,
        "deletionTimestamp": "d", "deletionGracePeriodSeconds": 5, "finalizers": ["a.test/x"]}});
    let mut new = json!({"metadata": {"name": "a", "generation": 9, "labels": {}}});
    carry_over(&mut new, &old);
    let metadata = &new["metadata"];
    assert_eq!(
        (&metadata["uid"], &metadata["generation"], &metadata["deletionTimestamp"]),
        (&json!("u"), &json!(3), &json!("d"))
    );
    assert_eq!(metadata.get("labels"), None);
    let mut errors = Errors::default();
    validate_update(&new, &old, &mut errors);
    assert!(errors.is_empty());
    new["metadata"]["uid"] = "other".into();
    new["metadata"]["finalizers"] = json!(["a.test/x", "a.test/y"]);
    validate_update(&new, &old, &mut errors);
    let said: Vec<String> =
        errors.into_causes().into_iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    assert_eq!(
        said,
        [
            "metadata.uid: Invalid value: \"other\": field is immutable",
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a.test/y\"}",
        ]
    );
}

#[test]
fn only_a_change_of_what_was_asked_for_counts() {
    let old = json!({"metadata": {"generation": 1}, "spec": {"a": 1}, "status": {"b": 1}});
    for (case, new, generation) in [
        ("nothing", json!({"metadata": {"generation": 1}, "spec": {"a": 1}, "status": {"b": 1}}), 1),
        ("status", json!({"metadata": {"generation": 1}, "spec": {"a": 1}, "status": {"b": 2}}), 1),
        ("labels", json!({"metadata": {"generation": 1, "labels": {"x": "y"}}, "spec": {"a": 1}}), 1),
        ("spec", json!({"metadata": {"generation": 1}, "spec": {"a": 2}}), 2),
        ("spec gone", json!({"metadata": {"generation": 1}}), 2),
    ] {
        let mut new = new;
        let kind = kedge_kinds::builtin().by_kind("apps", "v1", "Deployment").unwrap();
        count_generation(kind, &mut new, &old);
        assert_eq!(new["metadata"]["generation"], generation, "{case}");
    }
}

#[test]
fn a_generated_name_fits() {
    assert_eq!(generate("a-").len(), 7);
    assert_eq!(generate(&"a".repeat(80)).len(), 63);
}

#[test]
fn an_object_is_finished_when_nothing_holds_it() {
    for (metadata, finished) in [
        (json!({}), false),
        (json!({"deletionTimestamp": "t"}), true),
        (json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 3}), false),
        (json!({"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0, "finalizers": ["a/b"]}), false),
    ] {
        assert_eq!(is_finished(&json!({"metadata": metadata})), finished, "{metadata}");
    }
}
