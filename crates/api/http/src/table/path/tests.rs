//! Paths and what they lead to.

use serde_json::{Value, json};

use super::JsonPath;

#[test]
fn a_path_leads_where_kubectl_would_go() {
    let object = json!({
        "metadata": {"annotations": {"a.b/c": "dotted"}},
        "spec": {"replicas": 3, "parts": [{"name": "p", "size": 1}, {"name": "q", "size": 2}, {"name": "r"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]},
    });
    for (path, found) in [
        (".spec.replicas", json!([3])),
        ("spec.replicas", json!([3])),
        ("{.spec.replicas}", json!([3])),
        (".spec.parts[*].name", json!(["p", "q", "r"])),
        (".spec.parts[0].name", json!(["p"])),
        (".spec.parts[-1].name", json!(["r"])),
        (".spec.parts[1:].name", json!(["q", "r"])),
        (".spec.parts[0:2].name", json!(["p", "q"])),
        (".spec.parts[0,2].name", json!(["p", "r"])),
        (r".metadata.annotations.a\.b/c", json!(["dotted"])),
        (".metadata.annotations['a.b/c']", json!(["dotted"])),
        (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
        (".status.conditions[?(@.type == 'Old')].status", json!(["False"])),
        (".status.conditions[?(@.type!='Old')].status", json!(["True"])),
        (".spec.parts[?(@.size>1)].name", json!(["q"])),
        (".spec.parts[?(@.size)].name", json!(["p", "q"])),
        ("..type", json!(["Ready", "Old"])),
        (".spec.none.at.all", json!([])),
        (".spec.parts[7].name", json!([])),
        (".spec.parts[-7].name", json!([])),
    ] {
        let parsed = JsonPath::parse(path).unwrap_or_else(|| panic!("{path}"));
        let values: Vec<Value> = parsed.find(&object).into_iter().cloned().collect();
        assert_eq!(Value::from(values), found, "{path}");
    }
}

#[test]
fn what_is_no_path_is_not_read_as_one() {
    for text in [".spec[", ".spec[]", ".spec[a]", ".spec.parts[?(@.a=", ".a..", "."] {
        let parsed = JsonPath::parse(text);
        assert!(parsed.is_none() || text == ".", "{text}: {parsed:?}");
    }
}
