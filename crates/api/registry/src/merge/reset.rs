//! Which fields a write through an endpoint cannot change, so that its manager must not come to own them.
//! Knows kinds by their schema's name only.

use kedge_kinds::schema::Node;
use serde_json::{Map, Value};

use super::fields::FieldSet;

/// Takes out of a set what a write through this endpoint does not touch.
pub(super) fn exclude(node: Node<'_>, subresource: &str, set: &mut FieldSet) {
    let name = node.object().map(|object| &*object.name).unwrap_or_default();
    let built_in = name.starts_with("io.k8s.");
    let kind = name.rsplit('.').next().unwrap_or_default();
    match subresource {
        "ephemeralcontainers" => keep(set, &[&["f:spec", "f:ephemeralContainers"]]),
        "resize" => keep(
            set,
            &[
                &["f:spec", "f:containers", ANY, "f:resources"],
                &["f:spec", "f:containers", ANY, "f:resizePolicy"],
                &["f:spec", "f:initContainers", ANY, "f:resources"],
                &["f:spec", "f:initContainers", ANY, "f:resizePolicy"],
            ],
        ),
        _ => {
            for path in untouched(kind, built_in, subresource) {
                set.cut(path);
            }
        }
    }
}

fn untouched(kind: &str, built_in: bool, subresource: &str) -> &'static [&'static [&'static str]] {
    const SPEC: &[&str] = &["f:spec"];
    const STATUS: &[&str] = &["f:status"];
    const METADATA: &[&str] = &["f:metadata"];
    match (subresource, kind) {
        ("", "CertificateSigningRequest") => &[SPEC, STATUS],
        ("" | "finalize", _) => &[STATUS],
        ("status", "Deployment") => &[SPEC, &["f:metadata", "f:labels"]],
        ("status", "Pod") => {
            &[SPEC, &["f:metadata", "f:deletionTimestamp"], &["f:metadata", "f:ownerReferences"]]
        }
        ("status", "CertificateSigningRequest") => &[SPEC, &["f:status", "f:conditions"]],
        (
            "status",
            "APIService"
            | "FlowSchema"
            | "PriorityLevelConfiguration"
            | "ResourceClaim"
            | "ServiceCIDR"
            | "ValidatingAdmissionPolicy"
            | "VolumeAttachment",
        ) => &[SPEC, METADATA],
        ("status", _) if built_in => &[SPEC],
        ("status", _) => &[SPEC, METADATA],
        ("approval", _) => &[SPEC, &["f:status", "f:certificate"]],
        _ => &[],
    }
}

/// Stands for any one step.
const ANY: &str = "*";

/// Keeps only what stands at or below one of the paths.
fn keep(set: &mut FieldSet, paths: &[&[&str]]) {
    *set = FieldSet::from_tree(kept(set.tree(), paths));
}

fn kept(tree: &Map<String, Value>, paths: &[&[&str]]) -> Map<String, Value> {
    let mut result = Map::new();
    for (step, below) in super::fields::steps(tree) {
        let rest: Vec<&[&str]> = paths
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(first, _)| **first == ANY || **first == step.as_str())
            .map(|(_, rest)| rest)
            .collect();
        if rest.iter().any(|rest| rest.is_empty()) {
            result.insert(step.clone(), Value::Object(below.clone()));
        } else if !rest.is_empty() {
            let below = kept(below, &rest);
            if !below.is_empty() {
                result.insert(step.clone(), Value::Object(below));
            }
        }
    }
    result
}
