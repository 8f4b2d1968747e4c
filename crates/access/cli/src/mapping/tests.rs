//! Which kind a word means.

use serde_json::{Value, json};

use super::Mapping;

fn kind(plural: &str, kind: &str, short: &[&str], categories: &[&str]) -> Value {
    json!({"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "singularResource": kind.to_lowercase(),
        "verbs": ["get", "list"], "shortNames": short, "categories": categories})
}

fn mapping() -> Mapping {
    let mut mapping = Mapping::default();
    mapping.take(&json!({"items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [
        kind("pods", "Pod", &["po"], &["all"]), kind("events", "Event", &["ev"], &[])]}]}]}));
    mapping.take(&json!({"items": [
        {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [
            kind("deployments", "Deployment", &["deploy"], &["all"])]}]},
        {"metadata": {"name": "events.k8s.io"}, "versions": [{"version": "v1", "resources": [
            kind("events", "Event", &["ev"], &[])]}]},
        {"metadata": {"name": "shop.example"}, "versions": [
            {"version": "v2", "resources": [kind("pods", "Pod", &[], &[])]},
            {"version": "v1", "resources": [kind("pods", "Pod", &[], &[])]}]},
        {"metadata": {"name": "late.example"}, "versions": [{"version": "v1", "freshness": "Stale", "resources": []}]},
    ]}));
    mapping
}

#[test]
fn a_word_means_the_kind_that_it_would_in_kubectl() {
    let mapping = mapping();
    for (word, meant) in [
        ("pods", "/api/v1/pods"),
        ("Pod", "/api/v1/pods"),
        ("PO", "/api/v1/pods"),
        ("pods.v1.", "/api/v1/pods"),
        ("ev", "/api/v1/events"),
        ("events.events.k8s.io", "/apis/events.k8s.io/v1/events"),
        ("deploy", "/apis/apps/v1/deployments"),
        ("deployment.apps", "/apis/apps/v1/deployments"),
        ("deployments.v1.apps", "/apis/apps/v1/deployments"),
        ("pods.shop.example", "/apis/shop.example/v2/pods"),
        ("pods.v1.shop.example", "/apis/shop.example/v1/pods"),
    ] {
        let found = mapping.find(word).map(|found| found.collection(None));
        assert_eq!(found.ok().as_deref(), Some(meant), "{word}");
    }
}

#[test]
fn an_unknown_word_gets_a_hint() {
    for (word, near) in [("pod s", Some("pods")), ("deploymnts", Some("deployments")), ("zebras", None)] {
        match mapping().find(word) {
            Err(crate::error::CliError::NoKind { near: found, .. }) => {
                assert_eq!(found.as_deref(), near, "{word}");
            }
            other => panic!("{word}: {:?}", other.map(super::Resource::told)),
        }
    }
}

#[test]
fn a_category_means_all_of_its_kinds_and_silent_servers_are_known() {
    let mapping = mapping();
    let all: Vec<String> = mapping.all("all").unwrap().into_iter().map(super::Resource::told).collect();
    assert_eq!(all, ["pod", "deployment.apps"]);
    assert_eq!(mapping.silent, ["late.example/v1"]);
}
