use kedge_kinds::builtin;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn pod() -> Node<'static> {
    builtin().kind("", "v1", "pods").unwrap().node().unwrap()
}

fn deployment() -> Node<'static> {
    builtin().kind("apps", "v1", "deployments").unwrap().node().unwrap()
}

#[test]
fn patches_know_lists_and_directives() {
    let containers = |list: Value| json!({"spec": {"containers": list}});
    for (case, target, patch, result) in [
        (
            "items merge by key, new ones stand where the patch has them",
            containers(json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}])),
            containers(json!([{"name": "b", "image": "b:2"}, {"name": "c", "image": "c:1"}])),
            containers(
                json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}, {"name": "c", "image": "c:1"}]),
            ),
        ),
        (
            "an item that the server does not have comes before what follows it there",
            json!({"spec": {"hostAliases": [{"ip": "1"}, {"ip": "2"}]}}),
            json!({"spec": {"hostAliases": [{"ip": "1", "hostnames": ["x"]}, {"ip": "3"}]}}),
            json!({"spec": {"hostAliases": [{"ip": "1", "hostnames": ["x"]}, {"ip": "3"}, {"ip": "2"}]}}),
        ),
        (
            "an item goes",
            containers(json!([{"name": "a"}, {"name": "b"}])),
            containers(json!([{"name": "a", "$patch": "delete"}])),
            containers(json!([{"name": "b"}])),
        ),
        (
            "a list is replaced",
            containers(json!([{"name": "a"}, {"name": "b"}])),
            containers(json!([{"$patch": "replace"}, {"name": "z"}])),
            containers(json!([{"name": "z"}])),
        ),
        (
            "a list without a key is one value",
            json!({"spec": {"tolerations": [{"key": "a"}]}}),
            json!({"spec": {"tolerations": [{"key": "b"}]}}),
            json!({"spec": {"tolerations": [{"key": "b"}]}}),
        ),
        (
            "a map is replaced",
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
            json!({"metadata": {"labels": {"$patch": "replace", "only": "this"}}}),
            json!({"metadata": {"labels": {"only": "this"}}}),
        ),
        (
            "a map is emptied",
            json!({"metadata": {"labels": {"a": "1"}}}),
            json!({"metadata": {"labels": {"$patch": "delete"}}}),
            json!({"metadata": {"labels": {}}}),
        ),
        (
            "null removes, and is nothing where nothing is",
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
            json!({"metadata": {"labels": {"a": null, "c": null}, "annotations": {"x": null, "y": "1"}}}),
            json!({"metadata": {"labels": {"b": "2"}, "annotations": {"y": "1"}}}),
        ),
        (
            "scalars are a set, the patch's first",
            json!({"metadata": {"finalizers": ["one"]}}),
            json!({"metadata": {"finalizers": ["two", "one"]}}),
            json!({"metadata": {"finalizers": ["two", "one"]}}),
        ),
        (
            "scalars go",
            json!({"metadata": {"finalizers": ["two", "one"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["one"]}}),
            json!({"metadata": {"finalizers": ["two"]}}),
        ),
        (
            "scalars in order",
            json!({"metadata": {"finalizers": ["two"]}}),
            json!({"metadata": {"$setElementOrder/finalizers": ["three", "two"], "finalizers": ["three"]}}),
            json!({"metadata": {"finalizers": ["three", "two"]}}),
        ),
        (
            "an order alone",
            containers(json!([{"name": "a"}, {"name": "b"}])),
            json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}),
            containers(json!([{"name": "b"}, {"name": "a"}])),
        ),
        (
            "an order with a change and an item of the server's own",
            containers(json!([{"name": "side"}, {"name": "a"}, {"name": "b"}])),
            json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a", "image": "i"}]}}),
            containers(json!([{"name": "side"}, {"name": "b"}, {"name": "a", "image": "i"}])),
        ),
        (
            "an order for a list that is new",
            json!({"spec": {}}),
            json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "b"}, {"name": "a"}]}}),
            containers(json!([{"name": "b"}, {"name": "a"}])),
        ),
        (
            "keys of a volume",
            json!({"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}}),
            json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]}}),
            json!({"spec": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}}),
        ),
        (
            "a directive that meets nothing",
            json!({}),
            json!({"spec": {"volumes": [{"name": "v", "$patch": "delete"}], "$setElementOrder/volumes": []}}),
            json!({"spec": {"volumes": []}}),
        ),
    ] {
        assert_eq!(strategic(pod(), &target, &patch), Ok(result), "{case}");
    }
}

#[test]
fn a_strategy_keeps_the_keys_of_its_type() {
    let target = json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    assert_eq!(
        strategic(deployment(), &target, &patch),
        Ok(json!({"spec": {"strategy": {"type": "Recreate"}}}))
    );
}

#[test]
fn bad_patches_are_refused_in_kubernetes_words() {
    let target = json!({"metadata": {"finalizers": ["one"]}, "spec": {"containers": [{"name": "a"}]}});
    for (patch, code, message) in [
        (
            json!({"spec": {"containers": [{"image": "x:1"}]}}),
            500,
            "map: map[image:x:1] does not contain declared merge key: name",
        ),
        (json!({"spec": {"$patch": "frob"}}), 500, "unknown patch type: frob in map: map[$patch:frob]"),
        (
            json!({"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}}),
            500,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        (
            json!({"spec": {"containers": [{"name": "a", "$patch": "merge"}]}}),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"spec": {"$retainKeys": ["hostname"], "nodeName": "n"}}),
            400,
            "invalid patch format of retainKeys",
        ),
        (
            json!({"metadata": {"$deleteFromPrimitiveList": ["one"]}}),
            400,
            "invalid patch format of primitive list",
        ),
        (
            json!({"metadata": {"$setElementOrder/finalizers": "x"}}),
            400,
            "invalid patch format of setElementOrder list",
        ),
        (json!([]), 400, "invalid JSON document"),
    ] {
        let status = strategic(pod(), &target, &patch).unwrap_err();
        assert_eq!((status.code, &*status.message), (code, message), "{patch}");
    }
}

fn any_pod() -> impl Strategy<Value = Value> {
    let container = ("[a-e]", "[x-z]", prop::collection::btree_map("[A-D]", "[0-2]", 0..3));
    (prop::collection::vec(container, 0..4), prop::collection::btree_map("[a-c]", "[0-1]", 0..3)).prop_map(
        |(containers, labels)| {
            let mut list: Vec<Value> = Vec::new();
            for (name, image, env) in containers {
                if list.iter().all(|other| other["name"] != json!(name)) {
                    let env: Vec<Value> =
                        env.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
                    list.push(json!({"name": name, "image": image, "env": env}));
                }
            }
            json!({"metadata": {"labels": labels}, "spec": {"containers": list}})
        },
    )
}

/// The patch that kubectl would send to get from one pod to the other.
fn patch_between(old: &Value, new: &Value) -> Value {
    let names = |pod: &Value| pod["spec"]["containers"].as_array().unwrap().clone();
    let mut changes: Vec<Value> = names(new)
        .into_iter()
        .map(|mut item| {
            let gone = names(old)
                .into_iter()
                .find(|other| other["name"] == item["name"])
                .map(|other| other["env"].clone());
            let mut env = item["env"].as_array().unwrap().clone();
            for other in gone.iter().flat_map(|env| env.as_array().unwrap()) {
                if env.iter().all(|one| one["name"] != other["name"]) {
                    env.push(json!({"name": other["name"], "$patch": "delete"}));
                }
            }
            item["env"] = json!(env);
            item
        })
        .collect();
    let order: Vec<Value> = names(new).iter().map(|item| json!({"name": item["name"]})).collect();
    for other in names(old) {
        if order.iter().all(|one| one["name"] != other["name"]) {
            changes.push(json!({"name": other["name"], "$patch": "delete"}));
        }
    }
    let mut labels = new["metadata"]["labels"].clone();
    for key in old["metadata"]["labels"].as_object().unwrap().keys() {
        if labels.get(key).is_none() {
            labels[key] = Value::Null;
        }
    }
    json!({"metadata": {"labels": labels}, "spec": {"$setElementOrder/containers": order, "containers": changes}})
}

proptest! {
    #[test]
    fn a_patch_leads_from_one_object_to_the_other(old in any_pod(), new in any_pod()) {
        prop_assert_eq!(strategic(pod(), &old, &patch_between(&old, &new)).unwrap(), new);
    }

    #[test]
    fn any_patch_is_answered(old in any_pod(), patch in any_json()) {
        let _ = strategic(pod(), &old, &patch);
    }
}

/// Anything that looks a little like a patch.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!("delete")),
        Just(json!("replace")),
        "[a-c]".prop_map(Value::from),
        (0..3).prop_map(Value::from)
    ];
    let key = prop_oneof![
        Just("spec".to_owned()),
        Just("metadata".to_owned()),
        Just("labels".to_owned()),
        Just("containers".to_owned()),
        Just("env".to_owned()),
        Just("name".to_owned()),
        Just("$patch".to_owned()),
        Just("$retainKeys".to_owned()),
        Just("$setElementOrder/containers".to_owned()),
        Just("$deleteFromPrimitiveList/env".to_owned()),
    ];
    leaf.prop_recursive(5, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}
