//! Lists whose items are not as unique as their type demands.

use kedge_kinds::field::Errors;
use serde_json::json;

use super::check;
use crate::place::Place;
use crate::schema::Schema;

#[test]
fn items_are_unique() {
    let schema = json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}},
        "plain": {"type": "array", "items": {"type": "string"}},
    }});
    let schema = Schema::parse(&schema, &mut Default::default());
    for (object, said) in [
        (json!({"set": ["a", "b"], "plain": ["a", "a"]}), vec![]),
        (json!({"set": ["a", "b", "a", "a"]}), vec!["set[2]: Duplicate value: \"a\""]),
        (
            json!({"map": [{"a": "1", "b": "1"}, {"a": "1", "b": "2"}, {"a": "1", "b": "1", "c": 1}]}),
            vec![r#"map[2]: Duplicate value: {"a":"1","b":"1"}"#],
        ),
        (
            json!({"map": ["x"]}),
            vec![r#"map[0]: Invalid value: "x": must be an object for an array of list-type map"#],
        ),
    ] {
        let mut errors = Errors::default();
        check(&schema, &object, &Place::Root, &mut errors);
        let found: Vec<String> = errors
            .into_causes()
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        assert_eq!(found, said, "{object}");
    }
}
