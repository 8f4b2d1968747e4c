use serde_json::json;

use super::Decl;

#[test]
fn a_structural_schema_declares_what_expressions_see() {
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "maxLength": 10},
        "foo-bar": {"type": "integer"},
        "list": {"type": "array", "maxItems": 5, "items": {"type": "string", "format": "date-time"}},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let decl = Decl::from_schema(&schema, true, "self").unwrap();
    for (field, ty, max) in [
        ("name", "string", Some(40)),
        ("foo__dash__bar", "int", None),
        ("list", "list(timestamp)", Some(5)),
        ("port", "dyn", Some(3_145_726)),
        ("labels", "map(string, string)", Some(393_215)),
        ("metadata", "self.metadata", None),
        ("kind", "string", Some(3_145_726)),
    ] {
        let found = decl.field(field).unwrap_or_else(|| panic!("{field} is missing"));
        assert_eq!((found.decl.ty().to_string().as_str(), found.decl.max()), (ty, max), "{field}");
    }
    assert!(decl.field("any").is_none());
}
