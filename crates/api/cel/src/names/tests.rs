use super::{escape, unescape};

#[test]
fn names_are_escaped_and_read_back() {
    for (name, identifier) in [
        ("a", "a"),
        ("foo-bar", "foo__dash__bar"),
        ("foo.bar/baz", "foo__dot__bar__slash__baz"),
        ("namespace", "__namespace__"),
        ("namespaces", "namespaces"),
        ("a__b", "a__underscores__b"),
        ("_a_b", "_a_b"),
        ("self", "self"),
        ("int", "int"),
        ("-", "__dash__"),
    ] {
        assert_eq!(escape(name).as_deref(), Some(identifier), "{name}");
        assert_eq!(unescape(identifier).as_deref(), Some(name), "{identifier}");
    }
}

#[test]
fn what_no_expression_can_reach() {
    for name in ["", "1a", "a b", "é", "a$"] {
        assert_eq!(escape(name), None, "{name}");
    }
    for identifier in ["a__what__b", "a__namespace__b"] {
        assert_eq!(unescape(identifier), None, "{identifier}");
    }
}
