use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn set(value: Value) -> FieldSet {
    FieldSet::decode(value.as_object().unwrap().clone()).unwrap()
}

#[test]
fn sets_know_a_field_from_what_is_below_it() {
    for (case, one, other, union, difference, intersection) in [
        (
            "the same field",
            json!({"f:a": {}}),
            json!({"f:a": {}}),
            json!({"f:a": {}}),
            json!({}),
            json!({"f:a": {}}),
        ),
        (
            "other fields",
            json!({"f:a": {}}),
            json!({"f:b": {}}),
            json!({"f:a": {}, "f:b": {}}),
            json!({"f:a": {}}),
            json!({}),
        ),
        (
            "a field and one below it",
            json!({"f:a": {}}),
            json!({"f:a": {"f:b": {}}}),
            json!({"f:a": {".": {}, "f:b": {}}}),
            json!({"f:a": {}}),
            json!({}),
        ),
        (
            "a field below, and itself",
            json!({"f:a": {".": {}, "f:b": {}}}),
            json!({"f:a": {}}),
            json!({"f:a": {".": {}, "f:b": {}}}),
            json!({"f:a": {"f:b": {}}}),
            json!({"f:a": {}}),
        ),
        (
            "the last field below goes",
            json!({"f:a": {".": {}, "f:b": {}}}),
            json!({"f:a": {"f:b": {}}}),
            json!({"f:a": {".": {}, "f:b": {}}}),
            json!({"f:a": {}}),
            json!({"f:a": {"f:b": {}}}),
        ),
    ] {
        let (one, other) = (set(one), set(other));
        let mut all = one.clone();
        all.union(other.clone());
        assert_eq!(all, set(union), "{case}: union");
        let mut left = one.clone();
        left.subtract(&other);
        assert_eq!(left, set(difference), "{case}: difference");
        assert_eq!(one.intersection(&other), set(intersection), "{case}: intersection");
    }
}

#[test]
fn reads_what_others_wrote() {
    let read = set(json!({
        "f:a": {".": {}},
        "f:ports": {"k:{\"protocol\":\"TCP\", \"port\":80}": {"f:name": {}}},
        "x:future": {},
    }));
    assert_eq!(
        read.into_value(),
        json!({"f:a": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:name": {}}}})
    );
    for broken in [json!({"nocolon": {}}), json!({"k:{": {}}), json!({"i:x": {}}), json!({"f:a": 1})] {
        assert!(FieldSet::decode(broken.as_object().unwrap().clone()).is_err(), "{broken}");
    }
}

#[test]
fn cuts_a_branch() {
    for (case, mut tree, path, left) in [
        ("a leaf", set(json!({"f:a": {}})), &["f:a"][..], json!({})),
        (
            "a branch",
            set(json!({"f:a": {"f:b": {"f:c": {}}}, "f:d": {}})),
            &["f:a", "f:b"][..],
            json!({"f:d": {}}),
        ),
        (
            "a branch of a member",
            set(json!({"f:a": {".": {}, "f:b": {}}})),
            &["f:a", "f:b"][..],
            json!({"f:a": {}}),
        ),
        ("nothing", set(json!({"f:a": {}})), &["f:a", "f:b"][..], json!({"f:a": {}})),
    ] {
        tree.cut(path);
        assert_eq!(tree, set(left), "{case}");
    }
}

fn any_set() -> impl Strategy<Value = FieldSet> {
    let step = prop_oneof![
        "[a-c]".prop_map(|name| format!("f:{name}")),
        "[a-b]".prop_map(|name| format!("k:{{\"name\":\"{name}\"}}")),
        (0..2).prop_map(|value| format!("v:{value}")),
    ];
    let paths = prop::collection::vec(prop::collection::vec(step, 1..4), 0..8);
    paths.prop_map(|paths| {
        let mut set = FieldSet::default();
        for path in paths {
            let mut one = Value::Object(Map::new());
            for step in path.into_iter().rev() {
                one = json!({step: one});
            }
            set.union(FieldSet::decode(one.as_object().unwrap().clone()).unwrap());
        }
        set
    })
}

fn members(set: &FieldSet) -> std::collections::BTreeSet<Vec<String>> {
    set.paths().into_iter().map(|path| path.into_iter().map(str::to_owned).collect()).collect()
}

proptest! {
    #[test]
    fn is_a_set_of_paths(one in any_set(), other in any_set()) {
        let (a, b) = (members(&one), members(&other));
        let mut union = one.clone();
        union.union(other.clone());
        prop_assert_eq!(members(&union), a.union(&b).cloned().collect());
        let mut difference = one.clone();
        difference.subtract(&other);
        prop_assert_eq!(members(&difference), a.difference(&b).cloned().collect());
        prop_assert_eq!(members(&one.intersection(&other)), a.intersection(&b).cloned().collect());
        for path in &a {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            prop_assert!(one.has(&path));
        }
    }

    #[test]
    fn survives_being_written_and_read(set in any_set()) {
        let written = serde_json::to_string(&set.clone().into_value()).unwrap();
        let read: Value = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(FieldSet::decode(read.as_object().unwrap().clone()).unwrap(), set);
    }
}
