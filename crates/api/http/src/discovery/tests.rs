use std::collections::BTreeMap;

use kedge_kinds::builtin;
use serde_json::{Value, json};

use super::{AggregatedVersion, Discovery, compare_versions};

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn versions_are_preferred_as_in_kubernetes() {
    let mut versions = ["v1", "v11alpha2", "foo", "v10", "v2", "v1beta2", "v1beta1", "v12alpha1", "v3beta1"];
    versions.sort_by(|a, b| compare_versions(a, b));
    assert_eq!(
        versions,
        ["v10", "v2", "v1", "v3beta1", "v1beta2", "v1beta1", "v12alpha1", "v11alpha2", "foo"]
    );
}

#[test]
fn every_group_lists_its_versions_and_resources() {
    let discovery = Discovery::new(&builtin().kinds);
    let groups = parsed(&discovery.groups());
    let names: Vec<&str> =
        groups["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["apiregistration.k8s.io", "apps", "events.k8s.io"], "in Kubernetes' order");
    let autoscaling = parsed(&discovery.group("autoscaling").unwrap());
    assert_eq!(autoscaling["preferredVersion"]["version"], "v2");
    for group in groups["groups"].as_array().unwrap() {
        for version in group["versions"].as_array().unwrap() {
            let name = group["name"].as_str().unwrap();
            let resources = discovery.resources(name, version["version"].as_str().unwrap());
            assert!(resources.is_some(), "{}", version["groupVersion"]);
        }
    }
    assert!(discovery.group("").is_none());
    assert!(discovery.resources("apps", "v2").is_none());
}

#[test]
fn the_core_group_is_found_where_clients_look_first() {
    let discovery = Discovery::new(&builtin().kinds);
    let versions = parsed(&discovery.core_versions("127.0.0.1:6443"));
    assert_eq!(
        versions,
        json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]})
    );
}

#[test]
fn both_forms_say_the_same() {
    let discovery = Discovery::new(&builtin().kinds);
    for (answer, prefix) in [
        (discovery.aggregated_core(AggregatedVersion::V2), ""),
        (discovery.aggregated_groups(AggregatedVersion::V2), "/"),
    ] {
        let list = parsed(&answer.body);
        for group in list["items"].as_array().unwrap() {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            assert_eq!(name.is_empty(), prefix.is_empty());
            for version in group["versions"].as_array().unwrap() {
                let plain = parsed(&discovery.resources(name, version["version"].as_str().unwrap()).unwrap());
                let aggregated = aggregated_verbs(version);
                assert_eq!(plain_verbs(&plain), aggregated, "{name}");
                assert!(!aggregated.is_empty());
            }
        }
    }
}

#[test]
fn the_etag_changes_with_the_kinds() {
    let kinds = &builtin().kinds;
    let [all, again, fewer] = [&kinds[..], &kinds[..], &kinds[1..]]
        .map(|kinds| Discovery::new(kinds).aggregated_core(AggregatedVersion::V2).etag.clone());
    assert_eq!(all, again);
    assert_ne!(all, fewer);
}

/// Resource, singular or kind, and verbs.
type Verbs = BTreeMap<String, (String, Value)>;

fn plain_verbs(list: &Value) -> Verbs {
    list["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["name"]), (text(&one["kind"]), one["verbs"].clone())))
        .collect()
}

fn aggregated_verbs(version: &Value) -> Verbs {
    let mut all = Verbs::new();
    for one in version["resources"].as_array().unwrap() {
        let name = text(&one["resource"]);
        for sub in one["subresources"].as_array().into_iter().flatten() {
            let full = format!("{name}/{}", text(&sub["subresource"]));
            all.insert(full, (text(&sub["responseKind"]["kind"]), sub["verbs"].clone()));
        }
        all.insert(name, (text(&one["responseKind"]["kind"]), one["verbs"].clone()));
    }
    all
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
