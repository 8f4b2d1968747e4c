use kedge_kinds::builtin;
use serde_json::{Value, json};

use super::*;

fn pods(old: Option<Value>, new: Value) -> (Value, Value) {
    let pod = builtin().kind("", "v1", "pods").unwrap();
    let difference = compare(pod.node().unwrap(), old.as_ref(), &new);
    (difference.changed.into_value(), difference.removed.into_value())
}

#[test]
fn a_new_object_adds_what_an_empty_one_lacks() {
    let (changed, removed) = pods(
        None,
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {
            "containers": [{"name": "a", "image": "i", "ports": [{"containerPort": 80}], "resources": {}}],
            "securityContext": {}, "nodeSelector": {"x": "y"},
        }, "status": {}}),
    );
    assert_eq!(
        changed,
        json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {
                "f:containers": {"k:{\"name\":\"a\"}": {
                    ".": {}, "f:image": {}, "f:name": {}, "f:resources": {},
                    "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                }},
                "f:nodeSelector": {},
                "f:securityContext": {},
            },
        })
    );
    assert_eq!(removed, json!({}));
}

#[test]
fn tells_changed_from_removed() {
    let pod = |spec: Value| json!({"spec": spec});
    for (case, old, new, changed, removed) in [
        ("nothing", json!({"a": 1}), json!({"a": 1}), json!({}), json!({})),
        (
            "a scalar",
            json!({"nodeName": "a"}),
            json!({"nodeName": "b"}),
            json!({"f:nodeName": {}}),
            json!({}),
        ),
        ("gone", json!({"nodeName": "a"}), json!({}), json!({}), json!({"f:nodeName": {}})),
        (
            "null is gone",
            json!({"nodeName": "a"}),
            json!({"nodeName": null}),
            json!({}),
            json!({"f:nodeName": {}}),
        ),
        (
            "a map that is one value",
            json!({"nodeSelector": {"a": "b"}}),
            json!({"nodeSelector": {"c": "d"}}),
            json!({"f:nodeSelector": {}}),
            json!({}),
        ),
        (
            "an item for another",
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"name": "b"}]}),
            json!({"f:containers": {"k:{\"name\":\"b\"}": {".": {}, "f:name": {}}}}),
            json!({"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}),
        ),
        (
            "another order",
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"name": "b"}, {"name": "a"}]}),
            json!({}),
            json!({}),
        ),
        (
            "a key twice",
            json!({"containers": [{"name": "a", "image": "x"}]}),
            json!({"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "y"}]}),
            json!({"f:containers": {"k:{\"name\":\"a\"}": {}}}),
            json!({"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}}}}),
        ),
        (
            "an emptied list",
            json!({"tolerations": [{"key": "a"}]}),
            json!({"tolerations": []}),
            json!({"f:tolerations": {}}),
            json!({}),
        ),
    ] {
        let wrap = |set: Value| if set == json!({}) { set } else { json!({"f:spec": set}) };
        let got = pods(Some(pod(old)), pod(new));
        assert_eq!(got, (wrap(changed), wrap(removed)), "{case}");
    }
}

#[test]
fn a_list_that_is_always_written_is_owned_with_its_item() {
    let nodes = builtin().kind("storage.k8s.io", "v1", "csinodes").unwrap().node().unwrap();
    let drivers = |drivers: Value| json!({"spec": {"drivers": drivers}});
    let changed = |old: Option<Value>, new| compare(nodes, old.as_ref(), &new).changed.into_value();
    let item = json!({"k:{\"name\":\"d\"}": {".": {}, "f:name": {}, "f:nodeID": {}, "f:topologyKeys": {}}});
    for (case, old, new, expected) in [
        ("made", None, json!([{"name": "d", "nodeID": "n", "topologyKeys": null}]), item.clone()),
        (
            "added where none was",
            Some(drivers(Value::Null)),
            json!([{"name": "d", "nodeID": "n", "topologyKeys": null}]),
            item,
        ),
    ] {
        assert_eq!(changed(old, drivers(new)), json!({"f:spec": {"f:drivers": expected}}), "{case}");
    }
}

#[test]
fn a_volume_names_its_claim_field_by_field() {
    let volumes = builtin().kind("", "v1", "persistentvolumes").unwrap().node().unwrap();
    let claim = |name: &str| json!({"spec": {"claimRef": {"name": name, "namespace": "n"}}});
    let difference = compare(volumes, Some(&claim("a")), &claim("b"));
    assert_eq!(difference.changed.into_value(), json!({"f:spec": {"f:claimRef": {"f:name": {}}}}));
}
