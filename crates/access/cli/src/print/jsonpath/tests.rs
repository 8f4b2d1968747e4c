//! Templates and what stock kubectl makes of them.

use serde_json::{Value, json};

use super::{Template, relaxed};

fn list() -> Value {
    json!({"kind": "List", "items": [
        {"metadata": {"name": "a", "labels": {"app.x/y": "1"}}, "spec": {"ports": [80, 443], "n": 1},
         "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]}},
        {"metadata": {"name": "b"}, "spec": {"ports": [], "n": 10}, "status": {}},
    ]})
}

#[test]
fn templates_find_what_kubectl_finds() {
    for (template, written) in [
        ("{.kind}", "List"),
        ("{.items[*].metadata.name}", "a b"),
        ("{.items[0].metadata.name}/{.items[-1].metadata.name}", "a/b"),
        ("{range .items[*]}{.metadata.name}{\"\\t\"}{.spec.n}{\"\\n\"}{end}", "a\t1\nb\t10\n"),
        ("{.items[*]['metadata.name']}", ""),
        ("{.items[0].metadata.labels.app\\.x/y}", "1"),
        ("{.items[0].metadata.labels['app.x/y']}", "1"),
        ("{.items[?(@.spec.n>5)].metadata.name}", "b"),
        ("{.items[?(@.metadata.name==\"a\")].spec.ports}", "[80,443]"),
        ("{.items[0].spec.ports[0:1]}", "80"),
        ("{.items[0].spec.ports[0,1]}", "80 443"),
        ("{.items[0].status.conditions[?(@.type=='Ready')].status}", "True"),
        ("{.items[?(@.metadata.labels)].metadata.name}", "a"),
        ("{..name}", "a b"),
        ("{.items[*].nothing}", ""),
        ("{range .items[*]}{$.kind} {@.metadata.name};{end}", "List a;List b;"),
        ("plain", "plain"),
    ] {
        let found = Template::parse(template).and_then(|read| read.apply(&list()));
        assert_eq!(found.map_err(|error| error.to_string()).as_deref(), Ok(written), "{template}");
    }
}

#[test]
fn values_come_without_the_text_between_them() {
    let template = Template::parse("{range .items[*]}{.spec.n}, {end}{.kind}").unwrap();
    assert_eq!(template.values(&list()), [json!(1), json!(10), json!("List")]);
}

#[test]
fn a_path_alone_needs_neither_braces_nor_dot() {
    let list = list();
    for path in ["items[0].spec.n", ".items[0].spec.n", "{.items[0].spec.n}"] {
        let path = relaxed(path).unwrap();
        assert_eq!(path.find(&list, &list), [&json!(1)]);
    }
}

#[test]
fn what_is_no_template_is_refused() {
    for template in ["{.a", "{range .items[*]}x", "{end}", "{.a[}", "{.a[x]}"] {
        assert!(Template::parse(template).is_err(), "{template}");
    }
}
