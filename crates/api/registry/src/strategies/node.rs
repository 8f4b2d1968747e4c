//! Nodes and RuntimeClasses.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::fields::{at, fill, has, list, map, open, put, same, text, texts};
use super::pod::scheduling;
use super::{amounts, names};
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

    fn validate(&self, node: &Value, errors: &mut Errors) {
        let spec = at(node, "spec");
        taints(errors, spec);
        let path = Path::root("status");
        for field in ["capacity", "allocatable"] {
            for (name, value) in map(at(node, "status"), field) {
                amounts::resource_amount(errors, &path.child(field).key(name), name, value);
            }
        }
        let path = Path::root("spec");
        let ranges: Vec<&str> = texts(spec, "podCIDRs").collect();
        for (i, range) in ranges.iter().enumerate() {
            names::range(errors, &path.child("podCIDRs").index(i), range);
        }
        let families: Vec<bool> = ranges
            .iter()
            .filter_map(|range| names::parse_range(range))
            .map(|(address, _)| address.is_ipv4())
            .collect();
        if ranges.len() > 2 || (families.len() == 2 && families.first() == families.last()) {
            let detail = "may specify no more than one CIDR for each IP family";
            errors.invalid(&path.child("podCIDRs"), at(spec, "podCIDRs"), detail);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        let (now, before) = (at(new, "spec"), at(old, "spec"));
        let assigned = list(before, "podCIDRs");
        if !assigned.is_empty() && !same(at(now, "podCIDRs"), at(before, "podCIDRs")) {
            let detail = "node updates may not change podCIDR except from \"\" to valid";
            errors.forbidden(&path.child("podCIDRs"), detail);
        }
        let provider = text(before, "providerID");
        if !provider.is_empty() && text(now, "providerID") != provider {
            let detail = "node updates may not change providerID except from \"\" to valid";
            errors.forbidden(&path.child("providerID"), detail);
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

/// The path is that of the annotation which taints once were.
fn taints(errors: &mut Errors, spec: &Value) {
    let path = Path::root("metadata");
    let path = path.child("taints");
    let taints = list(spec, "taints");
    for (i, taint) in taints.iter().enumerate() {
        let path = path.index(i);
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        names::qualified(errors, &path.child("key"), key);
        let value = text(taint, "value");
        if !names::is_label_value(value) {
            names::label_value(errors, &path.child("value"), value);
        }
        names::one_of(errors, &path.child("effect"), effect, scheduling::TAINT_EFFECTS);
        if taints.iter().take(i).any(|other| text(other, "key") == key && text(other, "effect") == effect) {
            errors.duplicate(&path, taint);
        }
    }
}

impl Strategy for RuntimeClasses {
    fn validate(&self, class: &Value, errors: &mut Errors) {
        match text(class, "handler") {
            "" => errors.required(&Path::root("handler"), ""),
            handler => names::label(errors, &Path::root("handler"), handler),
        }
        let path = Path::root("overhead");
        for (name, value) in map(at(class, "overhead"), "podFixed") {
            let path = path.child("limits");
            amounts::container_resource(errors, &path.key(name), name);
            amounts::resource_amount(errors, &path.key(name), name, value);
        }
        let (path, placing) = (Path::root("scheduling"), at(class, "scheduling"));
        names::labels(errors, &path.child("nodeSelector"), placing, "nodeSelector");
        scheduling::tolerations(errors, &path.child("tolerations"), placing);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if text(new, "handler") != text(old, "handler") {
            errors.invalid(&Path::root("handler"), at(new, "handler"), "field is immutable");
        }
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}
