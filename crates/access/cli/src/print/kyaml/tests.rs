//! Texts as stock kubectl writes them, but for blanks other than spaces at the beginning of a line, which it writes so that they come
//! back as something else.

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
        (json!({"t": 1, "F": 2}), "{\n  \"F\": 2,\n  \"t\": 1,\n}"),
        (json!({"x": "one\ntwo\n"}), "{\n  x: \"\\\n     one\\n\\\n     two\\n\\\n    \",\n}"),
        (json!({"x": "  one\n\nx"}), "{\n  x: \"\\\n    \\  one\\n\\\n     \\n\\\n     x\\\n    \",\n}"),
        (
            json!({"x": "a\n\tb\n\u{a0}c"}),
            "{\n  x: \"\\\n     a\\n\\\n     \\tb\\n\\\n     \\_c\\\n    \",\n}",
        ),
        (json!({"a\nb": "\n"}), "{\n  \"a\\nb\": \"\\\n     \\n\\\n    \",\n}"),
        (
            json!({"é": 1, "_x_": 2, "null": 3, "T": 4, "inf": 5, "1_000": 6, "0xffffffffffffffffff": 7, "a:b": 8, "": 9}),
            "{\n  \"\": 9,\n  \"0xffffffffffffffffff\": 7,\n  \"1_000\": 6,\n  \"T\": 4,\n  _x_: 2,\n  \"a:b\": 8,\n  \"inf\": 5,\n  \"null\": 3,\n  é: 1,\n}",
        ),
        (
            json!("it's e\u{301} 日本 \u{3000} \u{e000} \u{1f600}"),
            "\"it's e\u{301} 日本 \\u3000 \\ue000 \u{1f600}\"",
        ),
        (json!("a \"b\" \\ \t é \u{1b} \u{200b} \u{1}"), "\"a \\\"b\\\" \\\\ \\t é \\e \\u200b \\x01\""),
    ] {
        assert_eq!(text(&value), format!("---\n{written}\n"), "{value}");
    }
}

/// Whatever is written is read again as what it was.
#[test]
fn what_is_written_is_read_again() {
    for word in [
        "",
        " ",
        "no",
        "1e3",
        "0o17",
        "~",
        "a: b",
        "# x",
        "- x",
        "\t",
        "  two\n one\n\nnone",
        "\n\n",
        "\n x",
        "\\n",
        "a\\\nb",
        "\"quoted\"\n'too'",
        "\u{a0}\n\u{2028}\u{feff}",
        "\u{0}\u{1b}\u{7f}\u{85}\n\tx \n",
        "{a: [b]},",
        "|",
        "---",
        "日本\n語",
    ] {
        let value =
            json!({"text": word, "list": [word, [word], {"in": word}], word: {word: [1, -2.5, true, null]}});
        let written = text(&value);
        let read = crate::input::read(&written, "this").unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(read, value, "{written}");
    }
}
