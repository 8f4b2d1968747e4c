//! What stays in an object and what is taken out.

use serde_json::{Value, json};

use super::{drop_nulls, prune};
use crate::schema::Schema;

fn pruned(schema: Value, object: Value) -> (Value, Vec<String>) {
    let schema = Schema::parse(&schema, &mut Default::default());
    let mut object = object;
    let unknown = prune(&schema, &mut object, true);
    (object, unknown)
}

#[test]
fn takes_out_what_the_schema_does_not_know() {
    let spec = json!({"type": "object", "properties": {
        "known": {"type": "string"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                 "properties": {"tight": {"type": "object", "properties": {}}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "any": {"type": "object", "additionalProperties": true},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
    }});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    for (case, given, left, unknown) in [
        ("unknown field", json!({"known": "a", "other": 1}), json!({"known": "a"}), vec!["spec.other"]),
        (
            "below what keeps everything, what is described is tight again",
            json!({"free": {"x": 1, "tight": {"y": 2}}}),
            json!({"free": {"x": 1, "tight": {}}}),
            vec!["spec.free.tight.y"],
        ),
        (
            "entries of maps",
            json!({"map": {"k": {"a": "1", "b": 2}}}),
            json!({"map": {"k": {"a": "1"}}}),
            vec!["spec.map.k.b"],
        ),
        ("maps of anything keep scalars", json!({"any": {"k": 1}}), json!({"any": {"k": 1}}), vec![]),
        (
            "items of lists",
            json!({"list": [{"a": "1"}, {"b": 2}]}),
            json!({"list": [{"a": "1"}, {}]}),
            vec!["spec.list[1].b"],
        ),
        (
            "embedded objects keep their type and metadata",
            json!({"embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "bad": 1}, "z": 1}}),
            json!({"embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}}}),
            vec!["spec.embedded.z", "spec.embedded.metadata.bad"],
        ),
        (
            "a value of the wrong type is left for validation",
            json!({"list": "x"}),
            json!({"list": "x"}),
            vec![],
        ),
    ] {
        let (object, found) = pruned(schema.clone(), json!({"kind": "K", "spec": given}));
        assert_eq!(object, json!({"kind": "K", "spec": left}), "{case}");
        assert_eq!(found, unknown, "{case}");
    }
}

#[test]
fn drops_nulls_that_are_no_values() {
    let schema = json!({"type": "object", "properties": {
        "plain": {"type": "string"},
        "nullable": {"type": "string", "nullable": true},
        "defaulted": {"type": "string", "default": "x"},
    }});
    let schema = Schema::parse(&schema, &mut Default::default());
    let mut object = json!({"plain": null, "nullable": null, "defaulted": null, "unknown": null});
    drop_nulls(Some(&schema), &mut object);
    assert_eq!(object, json!({"nullable": null, "defaulted": null, "unknown": null}));
}
