//! Embedded objects and what a stock server says about them.

use kedge_kinds::field::Errors;
use serde_json::json;

use super::whole;
use crate::place::Place;

#[test]
fn embedded_objects_are_objects() {
    for (object, expected) in [
        (json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}}}), vec![]),
        (json!({}), vec!["e.apiVersion: Required value", "e.kind: Required value"]),
        (
            json!({"apiVersion": "a/b/c", "kind": "", "metadata": {"name": "a/b"}}),
            vec![
                "e.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
                "e.kind: Invalid value: \"\": must not be empty",
                "e.metadata.name: Invalid value: \"a/b\": may not contain '/'",
            ],
        ),
    ] {
        let mut errors = Errors::default();
        whole(&object, &Place::Printed("e"), &mut errors);
        let found: Vec<String> = errors
            .into_causes()
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        assert_eq!(found, expected, "{object}");
    }
}
