//! What a driver publishes: a part of a pool of devices, and which nodes reach it.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::super::fields::{at, flag, has, list, map, number, text};
use super::super::names;
use super::super::pod::scheduling;
use super::super::pod::volumes::csi_driver;
use super::{device, parts};

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    csi_driver(errors, &path.child("driver"), text(spec, "driver"));
    pool(errors, &path.child("pool"), at(spec, "pool"));
    nodes(errors, path, spec);
    let (devices, counters) = (list(spec, "devices"), list(spec, "sharedCounters"));
    if !devices.is_empty() && !counters.is_empty() {
        names::wrong(errors, path, "", "only one of `sharedCounters` or `devices` is allowed");
    }
    let is_rich = |one: &Value| !list(one, "taints").is_empty() || !list(one, "consumesCounters").is_empty();
    let most = if devices.iter().any(is_rich) { 64 } else { 128 };
    parts::at_most(errors, &path.child("devices"), devices.len(), most);
    for (i, one) in devices.iter().enumerate() {
        let path = path.child("devices");
        let path = path.index(i);
        let name = text(one, "name");
        match name {
            "" => errors.required(&path.child("name"), ""),
            name => names::label(errors, &path.child("name"), name),
        }
        if devices.iter().take(i).any(|other| text(other, "name") == name) {
            errors.duplicate(&path.child("name"), &name.into());
        }
        device::validate(errors, &path, one, flag(spec, "perDeviceNodeSelection"));
    }
    parts::at_most(errors, &path.child("sharedCounters"), counters.len(), 8);
    for (i, set) in counters.iter().enumerate() {
        let path = path.child("sharedCounters");
        counter_set(errors, &path.index(i), set, "name", counters.get(..i).unwrap_or_default());
    }
}

/// A set of counters under a name of its own, declared or drawn from.
pub(super) fn counter_set(errors: &mut Errors, path: &Path<'_>, set: &Value, called: &str, others: &[Value]) {
    let name = text(set, called);
    match name {
        "" => errors.required(&path.child(called), ""),
        name => names::label(errors, &path.child(called), name),
    }
    let path_of = path.child("counters");
    let counters = map(set, "counters");
    if counters.is_empty() {
        errors.required(&path_of, "");
    }
    parts::at_most(errors, &path_of, counters.len(), 32);
    counters.keys().for_each(|counter| names::label(errors, &path_of, counter));
    if others.iter().any(|other| text(other, called) == name) {
        errors.duplicate(path, &name.into());
    }
}

fn pool(errors: &mut Errors, path: &Path<'_>, pool: &Value) {
    match text(pool, "name") {
        "" => errors.required(&path.child("name"), ""),
        name if name.len() > 253 => errors.too_long(&path.child("name"), 253),
        name => name.split('/').for_each(|part| names::subdomain(errors, &path.child("name"), part)),
    }
    if number(pool, "resourceSliceCount") <= 0 {
        let count = number(pool, "resourceSliceCount").into();
        errors.invalid(&path.child("resourceSliceCount"), &count, "must be greater than zero");
    }
    if number(pool, "generation") < 0 {
        let generation = at(pool, "generation");
        errors.invalid(&path.child("generation"), generation, "must be greater than or equal to zero");
    }
}

const WAYS: [&str; 4] = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"];

/// Exactly one way to say which nodes reach these devices.
fn nodes(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    match at(spec, "nodeName") {
        Value::String(name) if name.is_empty() => {
            let detail = "must be either unset or set to a non-empty string";
            names::wrong(errors, &path.child("nodeName"), name, detail);
        }
        Value::String(name) => names::subdomain(errors, &path.child("nodeName"), name),
        _ => {}
    }
    if has(spec, "nodeSelector") {
        selector(errors, &path.child("nodeSelector"), at(spec, "nodeSelector"));
    }
    for field in ["allNodes", "perDeviceNodeSelection"] {
        true_if_set(errors, path, spec, field);
    }
    let set: Vec<String> =
        WAYS.iter().filter(|way| is_said(spec, way)).map(|way| format!("`{way}`")).collect();
    let detail =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match set.len() {
        0 => errors.required(path, detail),
        1 => {}
        _ => {
            let said = format!("{{{}}}", set.join(", "));
            names::wrong(errors, path, &said, &format!("{detail}, but multiple fields are set"));
        }
    }
}

pub(super) fn selector(errors: &mut Errors, path: &Path<'_>, selector: &Value) {
    scheduling::node_selector(errors, path, selector);
    if list(selector, "nodeSelectorTerms").len() != 1 {
        let detail = "must have exactly one node selector term";
        errors.invalid(&path.child("nodeSelectorTerms"), at(selector, "nodeSelectorTerms"), detail);
    }
}

/// A way that is written down but says nothing is no way.
pub(super) fn is_said(of: &Value, way: &str) -> bool {
    match at(of, way) {
        Value::Null | Value::Bool(false) => false,
        Value::String(name) => !name.is_empty(),
        _ => true,
    }
}

pub(super) fn true_if_set(errors: &mut Errors, path: &Path<'_>, of: &Value, field: &str) {
    if at(of, field) == &Value::Bool(false) {
        errors.invalid(&path.child(field), &Value::Bool(false), "must be either unset or set to true");
    }
}
