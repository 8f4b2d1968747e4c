//! What templates come to. Everything here was tried with Go's own engine; `tests/kubectl` asks it again.

use serde_json::json;

use super::GoTemplate;

fn fill(template: &str) -> Result<String, String> {
    let object = json!({
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"b": "2", "a": "1"}, "generation": 3, "empty": null},
        "spec": {
            "replicas": 2, "big": 12_500_000, "half": 0.5, "on": true, "secret": "aGVsbG8=",
            "containers": [{"name": "one", "ports": [80, 443]}, {"name": "two"}], "none": [],
        },
    });
    GoTemplate::parse(template, false)
        .and_then(|template| template.apply(&object))
        .map_err(|error| error.to_string())
}

#[test]
fn templates_give_what_go_would_give() {
    for (template, text) in [
        ("plain", "plain"),
        ("{{.metadata.name}}", "web"),
        (
            "{{ .metadata.nothing }}|{{.metadata.nothing.at.all}}|{{.metadata.empty}}",
            "<no value>|<no value>|<no value>",
        ),
        ("{{.metadata.generation}} {{.spec.big}} {{.spec.half}} {{.spec.on}}", "3 12500000 0.5 true"),
        ("{{.metadata.labels}} {{(index .spec.containers 0).ports}}", "map[a:1 b:2] [80 443]"),
        ("{{range .spec.containers}}{{.name}} {{end}}", "one two "),
        ("{{range $i, $c := .spec.containers}}{{$i}}={{$c.name}};{{end}}", "0=one;1=two;"),
        ("{{range $k, $v := .metadata.labels}}{{$k}}{{$v}}{{end}}", "a1b2"),
        ("{{range .spec.none}}x{{else}}none{{end}}{{range .nothing}}x{{else}}!{{end}}", "none!"),
        (
            "{{range .spec.containers}}{{if eq .name \"one\"}}{{continue}}{{end}}{{.name}}{{break}}{{end}}",
            "two",
        ),
        ("{{range 3}}{{.}}{{end}}{{range .spec.replicas}}x{{end}}{{eq .spec.replicas 2}}", "012xxtrue"),
        ("{{if .spec.none}}a{{else if .spec.on}}b{{else}}c{{end}}", "b"),
        (
            "{{with .metadata}}{{.name}}{{$.kind}}{{end}}{{with .no}}x{{else with .kind}}{{.}}{{end}}",
            "webPodPod",
        ),
        ("{{$x := 1}}{{if true}}{{$x = 2}}{{$y := 3}}{{end}}{{$x}}", "2"),
        ("a  {{- \" b \" -}}  c {{- /* nothing */ -}} d", "a b cd"),
        ("{{/* nothing */}}{{`raw \"text\"`}}{{'a'}}{{0x10}}{{-1.5}}", "raw \"text\"9716-1.5"),
        (
            "{{index .metadata.labels \"a\"}}{{index .spec.containers 1 \"name\"}}{{index .metadata.labels \"x\"}}",
            "1two<no value>",
        ),
        ("{{len .spec.containers}}{{len .kind}}{{len .metadata.labels}}", "232"),
        ("{{.kind | printf \"%s-%s\" .metadata.name | len}}", "7"),
        (
            "{{printf \"%-5s|%5s|%05d|%.1f|%q|%v|%t|%x|%%\" \"ab\" \"cd\" 42 .spec.half \"a\\n\" .metadata.labels true \"hi\"}}",
            "ab   |   cd|00042|0.5|\"a\\n\"|map[a:1 b:2]|true|6869|%",
        ),
        ("{{printf \"%d %s %d\" .spec.replicas 3}}", "2 %!s(int=3) %!d(MISSING)"),
        (
            "{{printf \"%s\" \"a\" \"b\"}}{{printf \"%T %v\" .spec.half .no}}{{printf \"%.0f %5.2f\" 12500000.0 .spec.replicas}}",
            "a%!(EXTRA string=b)float64 <nil>12500000 %!f(int64=   02)",
        ),
        ("{{print 1 2 \"a\" \"b\" 3 4 .no}}{{println \"a\" 1}}", "1 2ab3 4 <nil>a 1\n"),
        (
            "{{eq .kind \"Node\" \"Pod\"}}{{ne .kind \"Pod\"}}{{lt 1 2}}{{ge .spec.half 0.5}}{{gt \"b\" \"a\"}}{{eq .no nil}}",
            "truefalsetruetruetruetrue",
        ),
        (
            "{{and .spec.on .kind}}{{and .no .kind}}{{or .no .kind}}{{not .no}}{{or .no \"\"}}",
            "Pod<no value>Podtrue",
        ),
        ("{{and .no (index .no 1)}}", "<no value>"),
        ("{{.spec.secret | base64decode}}", "hello"),
        (
            "{{slice .kind 1 2}}{{slice .spec.containers 1}}{{html \"<a>\"}}{{urlquery \"a b&\"}}",
            "o[map[name:two]]&lt;a&gt;a+b%26",
        ),
        (
            "{{exists .spec \"on\"}}{{exists .spec \"off\"}}{{exists .spec.containers 1 \"name\"}}",
            "truefalsetrue",
        ),
        ("{{define \"t\"}}<{{.}}>{{end}}{{template \"t\" .kind}}{{block \"u\" 1}}{{.}}{{end}}", "<Pod>1"),
        ("{{if and (eq .kind \"Pod\") (gt (len .spec.containers) 1)}}yes{{end}}", "yes"),
        ("{{(index .spec.containers 0).name}}{{$.metadata.name}}", "oneweb"),
    ] {
        assert_eq!(fill(template).as_deref(), Ok(text), "{template}");
    }
}

#[test]
fn what_go_would_refuse_is_refused() {
    for (template, part) in [
        ("{{.kind", "unclosed action"),
        ("{{if .kind}}", "unexpected EOF"),
        ("{{end}}", "unexpected {{end}}"),
        ("{{nothing .kind}}", "function \"nothing\" not defined"),
        ("{{break}}", "{{break}} outside {{range}}"),
        ("{{\"a}}", "unterminated quoted string"),
        ("{{.kind.name}}", "can't evaluate field name in type interface {}"),
        ("{{.metadata.empty.x}}", "nil pointer evaluating interface {}.x"),
        ("{{eq .spec.half 2}}", "error calling eq: incompatible types for comparison"),
        ("{{index .spec.containers 7}}", "error calling index: index out of range: 7"),
        ("{{len .spec.replicas}}", "error calling len: len of type int64"),
        ("{{range .spec.half}}{{end}}", "range can't iterate over 0.5"),
        ("{{.kind | .kind}}", "can't give argument to non-function"),
        ("{{$x}}", "undefined variable \"$x\""),
        ("{{template \"x\"}}", "template \"x\" not defined"),
        ("{{define \"t\"}}{{template \"t\"}}{{end}}{{template \"t\"}}", "exceeded maximum template depth"),
        ("{{base64decode \"!\"}}", "base64 decode failed"),
    ] {
        let told = fill(template).unwrap_err();
        assert!(told.contains(part), "{template}: {told}");
    }
    let strict = GoTemplate::parse("{{.a.b}}", true).unwrap().apply(&json!({"a": {}}));
    assert!(strict.unwrap_err().to_string().contains("map has no entry for key \"b\""));
}
