use serde_json::json;

use super::text;

#[test]
fn everything_is_in_braces_and_nothing_can_be_misread() {
    for (value, written) in [
        (json!({}), "{}"),
        (json!({"b": 1, "a": "x"}), "{\n  a: \"x\",\n  b: 1,\n}"),
        (
            json!({"no": true, "a.b/c": null, "key ": 1.5, "12": [], "y": {}, "2020-01-02": 1, "1x": 2, "-a": 3, "0x1f": 4}),
            "{\n  \"-a\": 3,\n  \"0x1f\": 4,\n  \"12\": [],\n  1x: 2,\n  \"2020-01-02\": 1,\n  a.b/c: null,\n  \"key \": 1.5,\n  \"no\": true,\n  \"y\": {},\n}",
        ),
        (json!([{"a": [{"c": 1}]}, {"a": 2}]), "[{\n  a: [{\n    c: 1,\n  }],\n}, {\n  a: 2,\n}]"),
        (json!({"l": [1, {"d": "e"}]}), "{\n  l: [\n    1,\n    {\n      d: \"e\",\n    },\n  ],\n}"),
        (json!([[1], []]), "[[\n  1,\n], []]"),
        (json!({"t": "one\ntwo\n"}), "{\n  t: \"\\\n     one\\n\\\n     two\\n\\\n    \",\n}"),
        (json!({"t": "  one\n\nx"}), "{\n  t: \"\\\n    \\  one\\n\\\n     \\n\\\n     x\\\n    \",\n}"),
        (json!("a \"b\" \\ \t é \u{1b} \u{200b} \u{1}"), "\"a \\\"b\\\" \\\\ \t é \\e \\u200b \\x01\""),
    ] {
        assert_eq!(text(&value), format!("---\n{written}\n"), "{value}");
    }
}
