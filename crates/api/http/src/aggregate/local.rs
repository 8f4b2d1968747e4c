//! APIServices of what we serve ourselves: one for each version of each group, kept without anybody's doing. Decides what
//! they are; storing them is the upkeep's.

use std::collections::BTreeMap;

use kedge_registry::Catalog;
use serde_json::{Value, json};

pub(super) const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";

/// Groups and how early Kubernetes lists them; a client that finds a name in two groups takes the first.
const PRIORITIES: [(&str, i64); 20] = [
    ("", 18000),
    ("apps", 17800),
    ("events.k8s.io", 17750),
    ("authentication.k8s.io", 17700),
    ("authorization.k8s.io", 17600),
    ("autoscaling", 17500),
    ("batch", 17400),
    ("certificates.k8s.io", 17300),
    ("networking.k8s.io", 17200),
    ("policy", 17100),
    ("rbac.authorization.k8s.io", 17000),
    ("storage.k8s.io", 16800),
    ("admissionregistration.k8s.io", 16700),
    ("apiextensions.k8s.io", 16700),
    ("scheduling.k8s.io", 16600),
    ("coordination.k8s.io", 16500),
    ("node.k8s.io", 16300),
    ("discovery.k8s.io", 16200),
    ("resource.k8s.io", 16200),
    ("flowcontrol.apiserver.k8s.io", 16100),
];
/// Custom groups come behind all of Kubernetes' own.
const CUSTOM: i64 = 1000;
/// The group of APIServices themselves has none and comes before all others but the core.
pub(super) const REGISTRATION: &str = "apiregistration.k8s.io";

pub(super) fn group_priority(group: &str) -> i64 {
    if group == REGISTRATION {
        return 17999;
    }
    PRIORITIES.iter().find(|(name, _)| *name == group).map_or(CUSTOM, |(_, priority)| *priority)
}

fn version_priority(group: &str, version: &str) -> i64 {
    match (group, version) {
        ("", _) => 1,
        ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", "v1") => 21,
        ("autoscaling", "v2") => 30,
        _ if PRIORITIES.iter().any(|(name, _)| *name == group) => 15,
        _ => 100,
    }
}

/// The APIServices that there should be, by name.
pub(super) fn wanted(catalog: &Catalog) -> BTreeMap<String, Value> {
    let groups = catalog.groups().into_iter().filter(|gv| &*gv.group != REGISTRATION);
    let built_in = |group: &str| PRIORITIES.iter().any(|(name, _)| *name == group);
    groups
        .map(|gv| {
            let name = format!("{}.{}", gv.version, gv.group);
            let managed = if built_in(&gv.group) { "onstart" } else { "true" };
            let mut spec = json!({
                "version": &*gv.version,
                "groupPriorityMinimum": group_priority(&gv.group),
                "versionPriority": version_priority(&gv.group, &gv.version),
            });
            if !gv.group.is_empty() {
                spec["group"] = (*gv.group).into();
            }
            let service = json!({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": {"name": name, "labels": {LABEL: managed}}, "spec": spec,
            });
            (name, service)
        })
        .collect()
}
