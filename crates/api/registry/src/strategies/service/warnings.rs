//! Fields of a service that are legal and yet do nothing beside its other ones, or soon won't.

use serde_json::Value;

use crate::strategies::fields::{at, list, map, text};

const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const HINTS: &str = "service.kubernetes.io/topology-mode";

pub(super) fn of(service: &Value) -> Vec<String> {
    let spec = at(service, "spec");
    let external_name = text(spec, "type") == "ExternalName";
    let headless = text(spec, "type") == "ClusterIP" && text(spec, "clusterIP") == "None";
    let external_addresses = !list(spec, "externalIPs").is_empty();
    let mut found = Vec::new();
    if map(at(service, "metadata"), "annotations").contains_key(OLD_HINTS) {
        found.push(format!("annotation {OLD_HINTS} is deprecated, please use {HINTS} instead"));
    }
    if headless {
        for (field, is_set) in [
            ("loadBalancerIP", !text(spec, "loadBalancerIP").is_empty()),
            ("externalIPs", external_addresses),
            ("SessionAffinity", text(spec, "sessionAffinity") != "None"),
        ] {
            if is_set {
                found.push(format!("spec.{field} is ignored for headless services"));
            }
        }
    }
    if external_addresses && external_name {
        found.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    } else if external_addresses && !headless {
        found.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned(),
        );
    }
    if !external_name && !text(spec, "externalName").is_empty() {
        found.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        found.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".to_owned(),
        );
    }
    found
}
