//! What is read out of objects for selectors.

use serde_json::json;

use super::Selection;
use super::traits::Traits;
use crate::strategy::Selectable;

#[test]
fn only_what_is_asked_for_is_read() {
    let selectable = [
        Selectable { field: "spec.nodeName", pointer: "/spec/nodeName", absent: "" },
        Selectable { field: "spec.unschedulable", pointer: "/spec/unschedulable", absent: "false" },
        Selectable { field: "status.replicas", pointer: "/status/replicas", absent: "0" },
    ];
    let object = json!({
        "metadata": {"labels": {"a": "b", "c": "d"}, "annotations": {"labels": "no"}},
        "spec": {"containers": [{"nodeName": "no"}], "nodeName": "n", "labels": {"x": "y"}, "unschedulable": true},
        "status": {"nodeName": "no"},
    });
    let traits = Traits::read(object.to_string().as_bytes(), &selectable);
    assert_eq!((traits.label("a"), traits.label("c"), traits.label("x")), (Some("b"), Some("d"), None));
    assert_eq!((traits.field(0), traits.field(1), traits.field(2)), ("n", "true", "0"));
    assert_eq!(Traits::read(b"nonsense", &selectable).field(1), "false");
}

#[test]
fn a_selection_knows_when_it_is_one_name() {
    let kind = kedge_kinds::builtin().by_kind("", "v1", "ConfigMap").unwrap();
    let parse = |fields: &str| Selection::parse(kind, None, "", fields).unwrap();
    assert_eq!(parse("metadata.name=a").only_name(), Some("a"));
    assert_eq!(parse("metadata.name!=a").only_name(), None);
    assert!(parse("").is_everything());
}
