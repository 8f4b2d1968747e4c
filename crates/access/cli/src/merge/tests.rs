//! Merges as kubectl's apply makes them.

use kedge_kinds::builtin;
use serde_json::{Value, json};

use super::{difference, has_list, three_way};

#[test]
fn a_difference_makes_one_into_the_other() {
    for (from, to, patch) in [
        (json!({"a": 1}), json!({"a": 1}), None),
        (json!({"a": 1, "b": 2}), json!({"a": 3}), Some(json!({"a": 3, "b": null}))),
        (json!({"a": {"x": 1}}), json!({"a": {"x": 1, "y": [1]}}), Some(json!({"a": {"y": [1]}}))),
    ] {
        let found = difference(&from, &to);
        assert_eq!(found, patch);
        assert_eq!(found.as_ref().is_some_and(has_list), to.to_string().contains('['));
    }
}

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec})
}

#[test]
fn a_merge_keeps_what_others_added_and_drops_what_is_no_longer_said() {
    let container = |name: &str, image: &str| json!({"name": name, "image": image});
    for (case, before, wanted, live, result) in [
        (
            "a default stays",
            json!({"containers": [container("a", "x")]}),
            json!({"containers": [container("a", "y")]}),
            json!({"containers": [{"name": "a", "image": "x", "imagePullPolicy": "Always"}], "dnsPolicy": "Default"}),
            json!({"containers": [{"name": "a", "image": "y", "imagePullPolicy": "Always"}], "dnsPolicy": "Default"}),
        ),
        (
            "a container of another's stays in its place",
            json!({"containers": [container("a", "x")]}),
            json!({"containers": [container("a", "x"), container("c", "z")]}),
            json!({"containers": [container("injected", "i"), container("a", "x")]}),
            json!({"containers": [container("injected", "i"), container("a", "x"), container("c", "z")]}),
        ),
        (
            "what is no longer said goes",
            json!({"containers": [container("a", "x"), container("b", "x")], "nodeName": "n"}),
            json!({"containers": [container("a", "x")]}),
            json!({"containers": [container("a", "x"), container("b", "x")], "nodeName": "n", "dnsPolicy": "None"}),
            json!({"containers": [container("a", "x")], "dnsPolicy": "None"}),
        ),
        (
            "a null takes away",
            json!({}),
            json!({"nodeName": null}),
            json!({"nodeName": "n", "dnsPolicy": "None"}),
            json!({"dnsPolicy": "None"}),
        ),
        (
            "an atomic list is replaced",
            json!({"tolerations": [{"key": "a"}]}),
            json!({"tolerations": [{"key": "b"}]}),
            json!({"tolerations": [{"key": "c"}]}),
            json!({"tolerations": [{"key": "b"}]}),
        ),
    ] {
        let schema = builtin().schema_of("", "v1", "Pod");
        assert!(schema.is_some());
        let merged = three_way(&pod(before), &pod(wanted), &pod(live), schema);
        assert_eq!(merged, pod(result), "{case}");
    }
}

#[test]
fn without_a_schema_lists_are_replaced() {
    let merged = three_way(&json!({"l": [1]}), &json!({"l": [2]}), &json!({"l": [1, 3], "m": 1}), None);
    assert_eq!(merged, json!({"l": [2], "m": 1}));
}
