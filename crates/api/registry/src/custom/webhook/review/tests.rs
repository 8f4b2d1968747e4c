//! Webhooks that answer as they should, and those that lie.

use kedge_kinds::GroupVersion;
use serde_json::{Value, json};

use super::{ask, believe, converted, version};

const ABOUT: &str = "conversion webhook for example.com/v1, Kind=Widget";

fn v2() -> GroupVersion {
    GroupVersion { group: "example.com".into(), version: "v2".into() }
}

fn widget(version: &str) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Widget",
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "generation": 4, "labels": {"a": "b"}},
    })
}

#[test]
fn the_first_version_that_both_speak_is_spoken() {
    for (spoken, found) in [
        (json!(["v1", "v1beta1"]), Some("apiextensions.k8s.io/v1")),
        (json!(["v9", "v1beta1"]), Some("apiextensions.k8s.io/v1beta1")),
        (json!(["v9"]), None),
    ] {
        assert_eq!(version(&json!({"conversionReviewVersions": spoken})), found);
    }
    let asked = ask("apiextensions.k8s.io/v1", "u", &v2(), &[widget("v1")]);
    assert_eq!(asked["request"]["desiredAPIVersion"], "example.com/v2");
    assert_eq!(asked["request"]["objects"][0]["metadata"]["name"], "a");
}

#[test]
fn an_answer_has_to_be_one() {
    const V1: &str = "apiextensions.k8s.io/v1";
    const V1BETA1: &str = "apiextensions.k8s.io/v1beta1";
    let review = |version: &str, response: Value| json!({"apiVersion": version, "kind": "ConversionReview", "response": response});
    let good = json!({"uid": "u", "result": {"status": "Success"}, "convertedObjects": [1]});
    let named = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind, "response": good});
    for (asked, answer, said) in [
        (V1, json!({"apiVersion": V1, "kind": "ConversionReview"}), "no response provided"),
        (V1, review(V1, json!({"uid": "other"})), "expected response.uid=\"u\", got \"other\""),
        (
            V1,
            review(V1, json!({"uid": "u", "result": {"status": "Failed"}})),
            "response.result.status was 'Failed', not 'Success'",
        ),
        (V1, review(V1, json!({"uid": "u", "result": {"status": "Failed", "message": "no way"}})), "no way"),
        (
            V1,
            named(V1BETA1, "ConversionReview"),
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1beta1, Kind=ConversionReview",
        ),
        (
            V1,
            named("admission.k8s.io/v1", "AdmissionReview"),
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got admission.k8s.io/v1, Kind=AdmissionReview",
        ),
        (
            V1,
            json!({"response": good}),
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got , Kind=",
        ),
        (
            V1BETA1,
            named(V1, "ConversionReview"),
            "expected webhook response of apiextensions.k8s.io/v1beta1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=ConversionReview",
        ),
    ] {
        assert_eq!(converted(asked, "u", &answer).unwrap_err(), said);
    }
    for (asked, answer) in [
        (V1, named(V1, "ConversionReview")),
        (V1BETA1, named(V1BETA1, "ConversionReview")),
        (V1BETA1, json!({"response": good})),
    ] {
        assert_eq!(converted(asked, "u", &answer).unwrap(), [json!(1)]);
    }
}

#[test]
fn a_conversion_changes_everything_but_who_the_object_is() {
    let mut good = widget("v2");
    good["spec"] = json!({"size": 1});
    good["metadata"]["generation"] = json!(99);
    good["metadata"]["labels"] = json!({"c": "d"});
    good["metadata"]["annotations"] = json!({"e": "f"});
    let found = believe(ABOUT, false, &v2(), vec![widget("v1")], vec![good]).unwrap();
    assert_eq!(found[0]["spec"]["size"], 1);
    assert_eq!(
        found[0]["metadata"],
        json!({"name": "a", "namespace": "n", "uid": "u", "generation": 4, "labels": {"c": "d"}, "annotations": {"e": "f"}})
    );
}

#[test]
fn lies_are_found() {
    let lie = |edit: &dyn Fn(&mut Value)| {
        let mut object = widget("v2");
        edit(&mut object);
        vec![object]
    };
    for (case, answered, said) in [
        ("none", vec![], "returned 0 objects, expected 1"),
        (
            "the old version",
            vec![widget("v1")],
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
        ),
        (
            "another kind",
            lie(&|o| o["kind"] = json!("Gadget")),
            "returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
        ),
        (
            "another name",
            lie(&|o| o["metadata"]["name"] = json!("b")),
            "returned invalid object: must have the same name: a != b",
        ),
        (
            "another uid",
            lie(&|o| o["metadata"]["uid"] = json!("v")),
            "returned invalid object: must have the same UID: u != v",
        ),
        (
            "labels that are none",
            lie(&|o| o["metadata"]["labels"] = json!(["x"])),
            "returned invalid metadata: invalid metadata.labels of type array in converted object",
        ),
        (
            "a label that can't be",
            lie(&|o| o["metadata"]["labels"] = json!({"a b": "c"})),
            "returned invalid metadata: metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or \
             'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ] {
        let found = believe(ABOUT, false, &v2(), vec![widget("v1")], answered).unwrap_err();
        assert_eq!(found, format!("{ABOUT} {said}"), "{case}");
    }
    let list =
        believe(ABOUT, true, &v2(), vec![widget("v1"), widget("v1")], vec![widget("v2"), widget("v1")]);
    assert_eq!(
        list.unwrap_err(),
        format!(
            "{ABOUT} returned invalid converted object at index 1: invalid groupVersion (expected example.com/v2, received example.com/v1)"
        )
    );
}
