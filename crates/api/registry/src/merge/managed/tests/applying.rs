use proptest::prelude::*;

use super::*;

fn deployment() -> &'static Kind {
    builtin().kind("apps", "v1", "deployments").unwrap()
}

fn apply_as(manager: &str, live: Option<&Value>, spec: Value, force: bool) -> Result<Value, Status> {
    let mut config = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
    for (key, value) in spec.as_object().unwrap() {
        config[key] = value.clone();
    }
    let who = Who { api_version: "apps/v1", ..who(manager, Operation::Apply, NOON) };
    apply(deployment(), deployment().node().unwrap(), live, &config, force, &who)
}

/// Without the empty fields that are always written.
fn containers(object: &Value) -> Value {
    sorted(&object["spec"]["template"]["spec"]["containers"])
}

fn with_containers(containers: Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

#[test]
fn what_is_no_longer_applied_goes_unless_another_wants_it() {
    let one = apply_as(
        "one",
        None,
        with_containers(json!([{"name": "a", "image": "a:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}])),
        false,
    )
    .unwrap();
    let two = apply_as(
        "two",
        Some(&one),
        with_containers(
            json!([{"name": "a", "env": [{"name": "C", "value": "3"}]}, {"name": "b", "image": "b:1"}]),
        ),
        false,
    )
    .unwrap();
    assert_eq!(
        containers(&two),
        json!([
            {"name": "a", "image": "a:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}]},
            {"name": "b", "image": "b:1"},
        ])
    );
    let three = apply_as(
        "one",
        Some(&two),
        with_containers(json!([{"name": "a", "image": "a:1", "env": [{"name": "B", "value": "2"}]}])),
        false,
    )
    .unwrap();
    assert_eq!(
        containers(&three)[0]["env"],
        json!([{"name": "B", "value": "2"}, {"name": "C", "value": "3"}])
    );
    let four = apply_as("two", Some(&three), json!({}), false).unwrap();
    assert_eq!(
        containers(&four),
        json!([{"name": "a", "image": "a:1", "env": [{"name": "B", "value": "2"}]}])
    );
    assert_eq!(owners(&four).len(), 1, "who owns nothing has no entry");
}

#[test]
fn what_a_plain_write_added_survives_beside_what_goes() {
    let one = apply_as(
        "one",
        None,
        with_containers(json!([{"name": "a", "env": [{"name": "A", "value": "1"}]}])),
        false,
    )
    .unwrap();
    let mut more = one.clone();
    more["spec"]["template"]["spec"]["containers"][0]["env"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "X", "value": "x"}));
    let plain = Who { api_version: "apps/v1", ..who("plain", Operation::Update, LATER) };
    let more = put(deployment(), Some(&one), more, &plain);
    let two = apply_as("one", Some(&more), with_containers(json!([{"name": "a"}])), false).unwrap();
    assert_eq!(containers(&two), json!([{"name": "a", "env": [{"name": "X", "value": "x"}]}]));
}

#[test]
fn conflicts_name_the_field_and_its_owner() {
    let one = apply_as(
        "one",
        None,
        json!({"metadata": {"name": "d", "labels": {"a": "1"}}, "spec": {"replicas": 2}}),
        false,
    )
    .unwrap();
    let status = apply_as("two", Some(&one), json!({"spec": {"replicas": 3}}), false).unwrap_err();
    assert_eq!(
        (status.code, &*status.message),
        (409, "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas")
    );
    let status = apply_as(
        "two",
        Some(&one),
        json!({"metadata": {"name": "d", "labels": {"a": "2"}}, "spec": {"replicas": 3}}),
        false,
    )
    .unwrap_err();
    assert_eq!(
        status.message,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .metadata.labels.a\n- .spec.replicas"
    );
    assert_eq!(status.details.unwrap().causes[1].field, ".spec.replicas");

    let forced = apply_as("two", Some(&one), json!({"spec": {"replicas": 3}}), true).unwrap();
    assert_eq!(
        owners(&forced),
        owned(&[
            ("one Apply", json!({"f:metadata": {"f:labels": {"f:a": {}}}})),
            ("two Apply", json!({"f:spec": {"f:replicas": {}}}))
        ])
    );
    let shared = apply_as("one", Some(&forced), json!({"spec": {"replicas": 3}}), false).unwrap();
    assert_eq!(shared["spec"]["replicas"], 3, "equal values are shared");
    assert_eq!(owners(&shared).len(), 2);
}

#[test]
fn a_plain_write_is_an_owner_too() {
    let one = apply_as("one", None, json!({"spec": {"replicas": 2}}), false).unwrap();
    let mut scaled = one.clone();
    scaled["spec"]["replicas"] = json!(5);
    let who = Who { api_version: "apps/v1", ..who("plain", Operation::Update, LATER) };
    let scaled = put(deployment(), Some(&one), scaled, &who);
    let status = apply_as("one", Some(&scaled), json!({"spec": {"replicas": 2}}), false).unwrap_err();
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"plain\" using apps/v1: .spec.replicas"
    );
}

#[test]
fn an_object_that_nobody_manages_gets_an_owner_for_what_is_there() {
    let live = json!({"metadata": {"name": "d", "uid": "u"}, "spec": {"replicas": 2}});
    let status = apply_as("one", Some(&live), json!({"spec": {"replicas": 3}}), false).unwrap_err();
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: .spec.replicas"
    );
}

#[test]
fn kubectl_takes_over_from_its_client_side_apply() {
    let last =
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":2}}"#;
    let live = json!({"metadata": {"name": "d", "annotations": {LAST_APPLIED: last}}, "spec": {"replicas": 2, "paused": true}});
    let who = Who { api_version: "apps/v1", ..who("kubectl-client-side-apply", Operation::Update, NOON) };
    let live = put(deployment(), None, live, &who);
    let taken = apply_as("kubectl", Some(&live), json!({"spec": {"replicas": 4}}), false).unwrap();
    assert_eq!(taken["spec"]["replicas"], 4);
    let renewed = taken["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap();
    assert!(renewed.contains("\"replicas\":4"), "{renewed}");
    let status = apply_as("kubectl", Some(&live), json!({"spec": {"replicas": 4, "paused": false}}), false)
        .unwrap_err();
    assert!(status.message.ends_with(".spec.paused"), "{}", status.message);
}

#[test]
fn a_configuration_must_fit_the_schema() {
    for (case, spec, code, message) in [
        (
            "unknown",
            json!({"spec": {"replicaz": 1}}),
            500,
            "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.replicaz: field not declared in schema",
        ),
        (
            "wrong type",
            json!({"spec": {"replicas": "many"}}),
            500,
            "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string",
        ),
        (
            "twice",
            with_containers(json!([{"name": "a"}, {"name": "a"}])),
            500,
            "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name=\"a\"]",
        ),
        (
            "managed fields",
            json!({"metadata": {"name": "d", "managedFields": []}}),
            400,
            "metadata.managedFields must be nil",
        ),
        ("another kind", json!({"kind": "ReplicaSet"}), 400, "invalid object type: apps/v1, Kind=ReplicaSet"),
        ("another version", json!({"apiVersion": "v1"}), 400, "invalid object type: /v1, Kind=Deployment"),
    ] {
        let status = apply_as("one", None, spec, false).unwrap_err();
        assert_eq!((status.code, &*status.message), (code, message), "{case}");
    }
}

#[test]
fn lists_keep_the_order_of_the_configuration_and_the_place_of_others() {
    for (case, live, config, merged) in [
        ("new ones come last", "abc", "xyz", "abcxyz"),
        ("its own order", "abc", "cb", "acb"),
        ("others keep their place", "abcd", "bd", "abcd"),
        ("moved to the front", "abc", "ca", "bca"),
        ("a new one between", "ab", "axb", "axb"),
        ("nothing live", "", "ba", "ba"),
    ] {
        let items =
            |names: &str| -> Value { names.chars().map(|name| json!({"name": name.to_string()})).collect() };
        let live = with_containers(items(live));
        let config = with_containers(items(config));
        let got = combine::combine(deployment().node().unwrap(), live, &config);
        let list = got["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        let names: String = list.iter().filter_map(|item| item["name"].as_str()).collect();
        assert_eq!(names, merged, "{case}");
    }
}

fn any_config() -> impl Strategy<Value = Value> {
    let env = prop::collection::btree_map("[A-C]", "[0-2]", 0..3);
    let container = ("[a-c]", prop::option::of("[x-z]"), env);
    let containers = prop::collection::vec(container, 0..3);
    (containers, prop::option::of(0..3), prop::collection::btree_map("[a-c]", "[0-1]", 0..3)).prop_map(
        |(containers, replicas, labels)| {
            let mut list: Vec<Value> = Vec::new();
            for (name, image, env) in containers {
                if list.iter().all(|other| other["name"] != json!(name)) {
                    let env: Vec<Value> =
                        env.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
                    let mut item = json!({"name": name, "env": env});
                    if let Some(image) = image {
                        item["image"] = json!(image);
                    }
                    list.push(item);
                }
            }
            let mut config = with_containers(json!(list));
            // Everyone owns something: two managers of one empty map are in conflict for ever, and what nobody owns is
            // given to `before-first-apply`, on a stock server as well.
            config["metadata"] = json!({"name": "d", "labels": labels});
            config["metadata"]["labels"]["z"] = json!("z");
            if let Some(replicas) = replicas {
                config["spec"]["replicas"] = json!(replicas);
            }
            config
        },
    )
}

/// Every leaf of the configuration stands in the object.
fn contains(object: &Value, config: &Value) -> bool {
    match (object, config) {
        (_, Value::Object(config)) if config.is_empty() => true,
        (Value::Object(object), Value::Object(config)) => {
            config.iter().all(|(key, value)| object.get(key).is_some_and(|object| contains(object, value)))
        }
        (Value::Array(object), Value::Array(config)) => config.iter().all(|item| {
            object.iter().any(|other| other.get("name") == item.get("name") && contains(other, item))
        }),
        _ => object == config,
    }
}

proptest! {
    #[test]
    fn applying_twice_changes_nothing_more(one in any_config(), two in any_config(), again in any_config()) {
        let live = apply_as("one", None, one, true).unwrap();
        let live = apply_as("two", Some(&live), two.clone(), true).unwrap();
        prop_assert!(contains(&sorted(&live["spec"]), &sorted(&two["spec"])));
        let repeated = apply_as("two", Some(&live), two, false).unwrap();
        prop_assert_eq!((sorted(&repeated), owners(&repeated)), (sorted(&live), owners(&live)));

        let live = apply_as("one", Some(&live), again.clone(), true).unwrap();
        prop_assert!(contains(&sorted(&live["spec"]), &sorted(&again["spec"])));
        let repeated = apply_as("one", Some(&live), again, false).unwrap();
        prop_assert_eq!((sorted(&repeated), owners(&repeated)), (sorted(&live), owners(&live)));
    }

    #[test]
    fn what_its_only_owner_gives_up_is_gone(one in any_config(), again in any_config()) {
        let live = apply_as("one", None, one, false).unwrap();
        let live = apply_as("one", Some(&live), again.clone(), false).unwrap();
        let fresh = apply_as("one", None, again, false).unwrap();
        prop_assert_eq!(sorted(&live), sorted(&fresh));
    }
}

/// Without emptied maps and lists, of which nobody owns anything, and with items in the order of their names.
fn sorted(object: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        other => other.is_null(),
    };
    match object {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "managedFields");
            let fields = fields.map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(sorted).collect();
            items.sort_by_key(|item| item["name"].to_string());
            Value::Array(items)
        }
        scalar => scalar.clone(),
    }
}
