//! How apply sees a custom kind.

use kedge_kinds::schema::{ListType, Place, Shape};
use serde_json::json;

use super::{of, outline};
use crate::schema::Schema;

#[test]
fn apply_sees_lists_maps_and_free_fields() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "count": {"type": "integer"},
    }}}});
    let schema = Schema::parse(&schema, &mut Default::default());
    let (schemas, root) = of("com.example.v1.K", &schema);
    let root = schemas.root(root).unwrap();
    let spec = root.key("spec").unwrap();
    assert_eq!(spec.key("set").unwrap().list_type(), &ListType::Set);
    let map = spec.key("map").unwrap();
    assert_eq!(map.list_type(), &ListType::Map(vec!["a".into()]));
    assert!(map.item().unwrap().key("a").is_some());
    assert!(map.item().unwrap().key("b").is_none(), "unknown fields have no shape");
    assert!(spec.key("atomic").unwrap().is_atomic());
    assert!(
        spec.key("free").unwrap().key("any").is_some_and(|node| node.is_any()),
        "kept fields are anything"
    );
    assert!(matches!(spec.key("labels").unwrap().key("k").unwrap().place(), Place::Shape(Shape::String)));
    assert!(matches!(spec.key("count").unwrap().place(), Place::Shape(Shape::Int64)));
    let owners = root.key("metadata").unwrap().key("ownerReferences").unwrap();
    assert_eq!(owners.list_type(), &ListType::Map(vec!["uid".into()]));
}

#[test]
fn the_outline_takes_anything_but_odd_metadata() {
    let mut object = json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "a", "odd": 1}, "spec": "x", "z": null});
    let outcome = kedge_kinds::check::check(outline().unwrap(), &mut object, kedge_kinds::check::Mode::Whole);
    assert_eq!(outcome.unknown, ["metadata.odd"]);
    assert!(outcome.errors.is_empty());
    assert_eq!(object["spec"], "x");
}
