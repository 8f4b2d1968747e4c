//! Nodes and RuntimeClasses.

use serde_json::{Value, json};

use super::fields::{fill, has, list, map, open, put, text};
use crate::strategy::{Selectable, Strategy};

pub(super) struct Nodes;
pub(super) struct RuntimeClasses;

impl Strategy for Nodes {
    fn default(&self, node: &mut Value) {
        if let Some(spec) = open(node, "spec") {
            ranges(spec);
        }
        let Some(status) = open(node, "status") else { return };
        fill(status, "daemonEndpoints", json!({"kubeletEndpoint": {"Port": 0}}));
        fill(
            status,
            "nodeInfo",
            json!({
                "architecture": "", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                "kubeletVersion": "", "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": "",
            }),
        );
        if !has(status, "allocatable") && !map(status, "capacity").is_empty() {
            let capacity = map(status, "capacity").clone();
            put(status, "allocatable", capacity);
        }
    }

    fn selectable(&self) -> &'static [Selectable] {
        &[Selectable { field: "spec.unschedulable", pointer: "/spec/unschedulable", absent: "false" }]
    }
}

/// `podCIDR` is the first of `podCIDRs`; each is filled from the other.
fn ranges(spec: &mut Value) {
    match list(spec, "podCIDRs").first().and_then(Value::as_str).map(str::to_owned) {
        Some(first) => put(spec, "podCIDR", first),
        None if !text(spec, "podCIDR").is_empty() => {
            let one = json!([text(spec, "podCIDR")]);
            put(spec, "podCIDRs", one);
        }
        None => {}
    }
}

impl Strategy for RuntimeClasses {
    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}
