//! What defaults do to an object.

use serde_json::json;

use super::fill;
use crate::schema::Schema;

#[test]
fn fills_in_what_was_left_out() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"},
        "nullable": {"type": "string", "nullable": true, "default": "x"},
        "deep": {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 3}}},
        "absent": {"type": "object", "properties": {"b": {"type": "integer", "default": 3}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "boolean", "default": false}}}},
        "map": {"type": "object", "additionalProperties": {"type": "string", "default": "y"}},
    }});
    let schema = Schema::parse(&schema, &mut Default::default());
    for (case, mut given, filled) in [
        ("nothing given", json!({}), json!({"a": "x", "nullable": "x", "deep": {"b": 3}})),
        (
            "null gives way unless it is a value",
            json!({"a": null, "nullable": null, "deep": {}}),
            json!({"a": "x", "nullable": null, "deep": {"b": 3}}),
        ),
        (
            "items and entries",
            json!({"a": "", "nullable": "", "deep": {"b": 1}, "list": [{}, {"c": true}], "map": {"k": null, "l": "z"}}),
            json!({"a": "", "nullable": "", "deep": {"b": 1}, "list": [{"c": false}, {"c": true}],
                   "map": {"k": "y", "l": "z"}}),
        ),
    ] {
        fill(&schema, &mut given);
        assert_eq!(given, filled, "{case}");
    }
}
