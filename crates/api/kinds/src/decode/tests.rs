use serde_json::json;

use super::*;

#[test]
fn tells_broken_json_in_gos_words() {
    for (given, message) in [
        ("{", "unexpected end of JSON input"),
        ("", "unexpected end of JSON input"),
        ("{}x", "invalid character 'x' after top-level value"),
        ("hello", "invalid character 'h' looking for beginning of value"),
        (r#"{"a" 5}"#, "invalid character '5' after object key"),
        (r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string"),
        (r#"{"a":1 "b"}"#, "invalid character '\"' after object key:value pair"),
        ("{5:6}", "invalid character '5' looking for beginning of object key string"),
        (r#"{"kind":5}"#, "json: cannot unmarshal number into Go struct field .kind of type string"),
        ("{\n \"a\": [1 2]}", "invalid character '2' after array element"),
    ] {
        let Err(DecodeError::Json(told)) = body(given.as_bytes(), Media::Json) else {
            panic!("{given} was read")
        };
        assert_eq!(told.replace("\\\"", "\""), message, "{given}");
    }
}

#[test]
fn words_the_answer_as_upstream_does() {
    let error = body(b"[]", Media::Json).unwrap_err();
    assert_eq!(
        unrecognized("Pod", &error, b"[]").message,
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal \
         array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
         \"json:\\\"kind,omitempty\\\"\" } (5b5d)"
    );
    let long = br#"{"apiVersion":"v1","kind":"Pod","metadata":"#;
    let error = body(long, Media::Json).unwrap_err();
    assert_eq!(
        unrecognized("Pod", &error, long).message,
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of \
         JSON input ({\"apiVersion\":\"v1\",\"kind\":\"Pod ...)"
    );
}

#[test]
fn finds_duplicates_and_tells_issues_in_document_order() {
    let given =
        br#"{"spec":{"containers":[{"name":"a","foo":1,"foo":{},"name":"b"}],"x":{"y":1},"Containers":[],
        "nodeSelector":{"a":"1","a":"2"}},"zz":1}"#;
    let decoded = body(given, Media::Json).unwrap();
    assert_eq!(decoded.value["spec"]["containers"][0], json!({"name": "b", "foo": {}}));
    let mut value = decoded.value;
    let node = crate::builtin().kind("", "v1", "pods").unwrap().node().unwrap();
    let outcome = crate::check::check(node, &mut value, crate::check::Mode::Whole);
    assert_eq!(
        strict_issues(given, Media::Json, decoded.duplicates, &outcome.unknown).join(", "),
        r#"unknown field "spec.containers[0].foo", duplicate field "spec.containers[0].name", unknown field "spec.x", unknown field "spec.Containers", duplicate field "spec.nodeSelector.a", unknown field "zz""#
    );
}

#[test]
fn null_is_an_empty_object() {
    assert_eq!(body(b"null", Media::Json).map(|decoded| decoded.value), Ok(json!({})));
}

#[test]
fn nesting_is_bounded() {
    for (media, open) in [(Media::Json, "["), (Media::Yaml, "["), (Media::Json, "{\"a\":")] {
        assert!(body(open.repeat(100_000).as_bytes(), media).is_err());
    }
}

#[test]
fn reads_yaml_as_upstream_does() {
    for (case, given, expected) in [
        (
            "plain",
            "a: b\nn: 5\nt: true\nf: 1.5\nz: null\n",
            json!({"a": "b", "n": 5, "t": true, "f": 1.5, "z": null}),
        ),
        ("octal modes", "mode: 0644\n", json!({"mode": 420})),
        ("quoted", "a: \"5\"\nb: 'true'\n", json!({"a": "5", "b": "true"})),
        ("anchors", "a: &x {k: v}\nb: *x\n", json!({"a": {"k": "v"}, "b": {"k": "v"}})),
        ("first document only", "---\na: 1\n---\nb: 2\n", json!({"a": 1})),
        ("block text", "a: |\n  x\n  y\n", json!({"a": "x\ny\n"})),
        ("dates stay texts", "a: 2024-05-01T10:00:00Z\n", json!({"a": "2024-05-01T10:00:00Z"})),
        ("json", "{\"a\": [1, 2]}", json!({"a": [1, 2]})),
    ] {
        assert_eq!(body(given.as_bytes(), Media::Yaml).map(|decoded| decoded.value), Ok(expected), "{case}");
    }
    let broken = body(b"a: [", Media::Yaml).unwrap_err().to_string();
    assert!(broken.starts_with("yaml: line 1: "), "{broken}");
    let twice = body(b"a: 1\na: 2\n", Media::Yaml).unwrap();
    assert_eq!(twice.value, json!({"a": 2}));
    assert_eq!(twice.duplicates, ["yaml: unmarshal errors:\n  line 2: key \"a\" already set in map"]);
}

#[test]
fn a_yaml_bomb_is_refused() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let before = format!("*a{},", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert!(body(bomb.as_bytes(), Media::Yaml).is_err());
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        for media in [Media::Json, Media::Yaml, Media::Protobuf] {
            let _ = body(&bytes, media);
        }
        let _ = unrecognized("Pod", &DecodeError::NoProtobuf, &bytes);
    }
}

#[test]
fn a_patch_may_be_a_list() {
    let decoded = patch(br#"[{"op": "test", "op": "remove", "path": "/a"}]"#).unwrap();
    assert_eq!(decoded.value, serde_json::json!([{"op": "remove", "path": "/a"}]));
    assert_eq!(decoded.duplicates, ["duplicate field \"[0].op\""]);
}
