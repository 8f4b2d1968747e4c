//! Selectors, as text and as structs, and what is read out of objects for them.

use serde_json::json;

use super::labels::LabelSelector;
use super::traits::Traits;
use super::{Selection, fields};
use crate::strategy::Selectable;

#[test]
fn label_selectors_match() {
    let labels = |key: &str| match key {
        "app" => Some("x"),
        "n" => Some("5"),
        "empty" => Some(""),
        _ => None,
    };
    for (text, matches) in [
        ("", true),
        ("app", true),
        ("!app", false),
        ("!tier", true),
        ("app=x", true),
        ("app==x", true),
        ("app = x", true),
        ("app!=x", false),
        ("tier!=x", true),
        ("app in (y, x)", true),
        ("app notin (x)", false),
        ("tier notin (x)", true),
        ("empty=", true),
        ("n>4", true),
        ("n<4", false),
        ("app=x,tier", false),
    ] {
        assert_eq!(LabelSelector::parse(text).unwrap().matches(labels), matches, "{text}");
    }
    for text in ["app in x", "=x", "app=x,", "app x", "-a=b", "app in (x", "n>a"] {
        assert!(LabelSelector::parse(text).is_err(), "{text}");
    }
    let selector = json!({"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]});
    assert!(LabelSelector::of(&selector).matches(labels));
}

#[test]
fn field_selectors_are_read() {
    let read = |text: &str| {
        fields::parse(text).map(|terms| {
            terms
                .iter()
                .map(|term| format!("{}{}{}", term.field, if term.equal { "=" } else { "!" }, term.value))
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    assert_eq!(read("a=b,c!=d,e==f").unwrap(), "a=b c!d e=f");
    assert_eq!(read("a=b\\,c").unwrap(), "a=b,c");
    assert_eq!(read("").unwrap(), "");
    assert_eq!(read("a").unwrap_err(), "invalid selector: 'a'; can't understand 'a'");
}

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
