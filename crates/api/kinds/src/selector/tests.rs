use serde_json::json;

use super::*;

#[test]
fn selects_by_labels() {
    let labels = json!({"metadata": {"labels": {"app": "web", "tier": "a", "n": "7", "empty": ""}}});
    for (selector, selected) in [
        ("", true),
        ("app=web", true),
        ("app==web", true),
        ("app!=web", false),
        ("app=db", false),
        ("app", true),
        ("!app", false),
        ("!none", true),
        ("none!=x", true),
        ("tier in (a, b)", true),
        ("tier notin (a,b)", false),
        ("none notin (a)", true),
        ("app=web,tier=b", false),
        ("app = web , tier in (a)", true),
        ("n>5", true),
        ("n<5", false),
        ("app>5", false),
        ("empty=", true),
        ("empty in ()", true),
        ("empty in (x,)", true),
        ("app in ()", false),
        ("none=", false),
        ("in", false),
        ("in=a", false),
        ("example.com/x!=y", true),
    ] {
        let parsed = LabelSelector::parse(selector).unwrap();
        assert_eq!(parsed.matches_object(&labels), selected, "{selector}");
    }
}

#[test]
fn refuses_with_upstreams_messages() {
    for (selector, message) in [
        ("a=b,", "found '', expected: identifier after ','"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a==b==c", "found '==', expected: ',' or 'end of string'"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "-a=b",
            "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
        (
            "a=-b",
            "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
        ("a in (b) c", "found 'c', expected: ',' or 'end of string'"),
        ("((", "found '(', expected: !, identifier, or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a,,b", "found ',', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
    ] {
        assert_eq!(LabelSelector::parse(selector).unwrap_err().to_string(), message, "{selector}");
    }
}

#[test]
fn reads_selectors_of_objects() {
    let labels = json!({"metadata": {"labels": {"app": "web"}}});
    for (case, selector, selected) in [
        ("absent", None, false),
        ("empty", Some(json!({})), true),
        ("equal", Some(json!({"matchLabels": {"app": "web"}})), true),
        (
            "both must hold",
            Some(
                json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
            ),
            false,
        ),
        (
            "in",
            Some(json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]})),
            true,
        ),
    ] {
        assert_eq!(
            LabelSelector::of_object(selector.as_ref()).unwrap().matches_object(&labels),
            selected,
            "{case}"
        );
    }
    let bad = json!({"matchExpressions": [{"key": "app", "operator": "Like"}]});
    assert_eq!(
        LabelSelector::of_object(Some(&bad)).unwrap_err().to_string(),
        "\"Like\" is not a valid label selector operator"
    );
    let empty = json!({"matchExpressions": [{"key": "app", "operator": "In", "values": []}]});
    assert!(LabelSelector::of_object(Some(&empty)).is_err());
}

#[test]
fn selects_by_fields() {
    let field = |name: &str| match name {
        "metadata.name" => Some("a,b=c"),
        "status.phase" => Some("Running"),
        _ => None,
    };
    for (selector, selected) in [
        ("", true),
        ("status.phase=Running", true),
        ("status.phase==Running", true),
        ("status.phase!=Running", false),
        (r"metadata.name=a\,b\=c,status.phase!=Failed", true),
        ("spec.nodeName=", true),
        ("spec.nodeName!=", false),
        ("status.phase=Running,", true),
    ] {
        assert_eq!(FieldSelector::parse(selector).unwrap().matches(field), selected, "{selector}");
    }
    for (selector, message) in [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        (r"metadata.name=a\x", r"invalid field selector: invalid escape sequence: \x"),
    ] {
        assert_eq!(FieldSelector::parse(selector).unwrap_err().to_string(), message);
    }
    assert_eq!(FieldSelector::parse("metadata.name=x").unwrap().requires("metadata.name"), Some("x"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[a-z=!(),<> ä\\\\]{0,30}") {
        let _ = LabelSelector::parse(&text);
        let _ = FieldSelector::parse(&text);
    }
}
