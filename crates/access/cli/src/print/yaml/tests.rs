//! Texts that stock kubectl writes so.

use serde_json::{Value, json};

use super::text;

#[test]
fn texts_are_quoted_where_they_would_be_misread() {
    for (value, written) in [
        ("plain", "plain"),
        ("", "\"\""),
        ("true", "\"true\""),
        ("No", "\"No\""),
        ("y", "\"y\""),
        ("nUll", "nUll"),
        ("123", "\"123\""),
        ("0x1f", "\"0x1f\""),
        ("1e3", "\"1e3\""),
        ("1.2.3", "1.2.3"),
        ("12:30", "\"12:30\""),
        ("2024-01-31", "\"2024-01-31\""),
        ("2024-01-31T12:00:00Z", "\"2024-01-31T12:00:00Z\""),
        ("100m", "100m"),
        ("64Mi", "64Mi"),
        ("-", "'-'"),
        ("- x", "'- x'"),
        ("-x", "-x"),
        ("a: b", "'a: b'"),
        ("a:b", "a:b"),
        ("a #b", "'a #b'"),
        ("*", "'*'"),
        ("{}", "'{}'"),
        ("it's", "it's"),
        ("'", "''''"),
        (" lead", "' lead'"),
        ("tab\t", "\"tab\\t\""),
        ("ü", "ü"),
        ("https://x:1/", "https://x:1/"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        (" a\nb", "|2-\n   a\n  b"),
        ("a \nb", "\"a \\nb\""),
    ] {
        assert_eq!(text(&json!({"k": value})), format!("k: {written}\n"), "{value:?}");
    }
}

#[test]
fn structure_is_laid_out_as_kubectl_does() {
    let value: Value = json!({
        "b": [1, {"y": [], "x": {"n": null}}, [true, "t"]], "a10": {}, "a2": {"k": [{"name": "x", "args": ["a", "b"]}]}
    });
    let written = "\
a2:
  k:
  - args:
    - a
    - b
    name: x
a10: {}
b:
- 1
- x:
    \"n\": null
  \"y\": []
- - true
  - t
";
    assert_eq!(text(&value), written);
}
