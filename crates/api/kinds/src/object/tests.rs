use serde_json::json;

use super::*;

#[test]
fn metadata_reads_as_empty_where_it_is_missing() {
    let object = json!({"apiVersion": "apps/v1", "metadata": {"name": "a", "labels": {"x": "y"}, "generation": 3, "finalizers": ["f"],
        "deletionTimestamp": "2024-05-01T10:00:00Z", "ownerReferences": [{"kind": "Job", "uid": "1"}, {"kind": "RS", "uid": "2", "controller": true}]}});
    let meta = Meta::of(&object);
    assert_eq!((meta.name(), meta.namespace(), meta.generation(), meta.is_leaving()), ("a", "", 3, true));
    assert_eq!((meta.label("x"), meta.label("z"), meta.annotation("x")), (Some("y"), None, None));
    assert_eq!(meta.controller().map(|owner| (owner.kind(), owner.uid())), Some(("RS", "2")));
    assert!(meta.finalizers().eq(["f"]));
    assert_eq!(group_version(&object), ("apps", "v1"));
    assert_eq!(Meta::of(&json!([])).name(), "");
}

#[test]
fn fields_are_found_by_path() {
    let object = json!({"spec": {"nodeName": "n", "on": false, "map": {}}});
    for (path, text) in
        [("spec.nodeName", Some("n")), ("spec.on", Some("false")), ("spec.map", None), ("spec.none.x", None)]
    {
        assert_eq!(field_text(&object, path).as_deref(), text, "{path}");
    }
}
