//! What a claim asks for, and who uses what it was given.

use kedge_kinds::Meta;
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::super::fields::{at, each, fill_number, fill_text, has, list, number, open, same, text};
use super::super::pod::scheduling;
use super::super::{names, workload};
use super::parts;

const MOST: usize = 32;
const NO_REQUEST: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

pub(super) fn default(spec: &mut Value) {
    let Some(devices) = open(spec, "devices") else { return };
    for request in each(devices, "requests") {
        if let Some(exactly) = request.get_mut("exactly") {
            count(exactly);
        }
        each(request, "firstAvailable").for_each(count);
    }
}

fn count(request: &mut Value) {
    fill_text(request, "allocationMode", "ExactCount");
    if text(request, "allocationMode") == "ExactCount" {
        fill_number(request, "count", 1);
    }
    each(request, "tolerations").for_each(|toleration| fill_text(toleration, "operator", "Equal"));
}

pub(super) fn validate(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let (path, devices) = (path.child("devices"), at(spec, "devices"));
    let requests = list(devices, "requests");
    parts::at_most(errors, &path.child("requests"), requests.len(), MOST);
    for (i, request) in requests.iter().enumerate() {
        let path = path.child("requests");
        let path = path.index(i);
        named(errors, &path, requests, i);
        wish(errors, &path, request);
    }
    let constraints = list(devices, "constraints");
    parts::at_most(errors, &path.child("constraints"), constraints.len(), MOST);
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.child("constraints");
        let path = path.index(i);
        of_requests(errors, &path, constraint, requests);
        one_attribute(errors, &path, constraint);
    }
    let configs = list(devices, "config");
    parts::at_most(errors, &path.child("config"), configs.len(), MOST);
    for (i, config) in configs.iter().enumerate() {
        let path = path.child("config");
        let path = path.index(i);
        of_requests(errors, &path, config, requests);
        parts::opaque(errors, &path, config);
    }
}

/// Requests, and the options of one, have each a name of their own.
fn named(errors: &mut Errors, path: &Path<'_>, all: &[Value], i: usize) {
    let name = all.get(i).map_or("", |one| text(one, "name"));
    if name.is_empty() {
        return errors.required(&path.child("name"), "");
    }
    names::label(errors, &path.child("name"), name);
    if all.iter().take(i).any(|other| text(other, "name") == name) {
        errors.duplicate(path, &name.into());
    }
}

fn wish(errors: &mut Errors, path: &Path<'_>, request: &Value) {
    let options = list(request, "firstAvailable");
    match (has(request, "exactly"), !options.is_empty()) {
        (true, true) => {
            let detail =
                "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            errors.invalid(path, &Value::Null, detail);
        }
        (false, false) => errors.required(path, "exactly one of `exactly` or `firstAvailable` is required"),
        (true, false) => wanted(errors, &path.child("exactly"), at(request, "exactly")),
        (false, true) => {
            let path = path.child("firstAvailable");
            parts::at_most(errors, &path, options.len(), 8);
            for (i, option) in options.iter().enumerate() {
                let path = path.index(i);
                named(errors, &path, options, i);
                wanted(errors, &path, option);
            }
        }
    }
}

fn wanted(errors: &mut Errors, path: &Path<'_>, request: &Value) {
    match text(request, "deviceClassName") {
        "" => errors.required(&path.child("deviceClassName"), ""),
        class => names::subdomain(errors, &path.child("deviceClassName"), class),
    }
    parts::selectors(errors, &path.child("selectors"), list(request, "selectors"));
    let mode = text(request, "allocationMode");
    names::one_of(errors, &path.child("allocationMode"), mode, &["All", "ExactCount"]);
    match mode {
        "ExactCount" if number(request, "count") <= 0 => {
            errors.invalid(&path.child("count"), at(request, "count"), "must be greater than zero");
        }
        "All" if number(request, "count") != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            errors.invalid(&path.child("count"), at(request, "count"), detail);
        }
        _ => {}
    }
    let tolerations = list(request, "tolerations");
    parts::at_most(errors, &path.child("tolerations"), tolerations.len(), 16);
    for (i, toleration) in tolerations.iter().enumerate() {
        tolerated(errors, &path.child("tolerations").index(i), toleration);
    }
}

fn tolerated(errors: &mut Errors, path: &Path<'_>, toleration: &Value) {
    let (key, value) = (text(toleration, "key"), text(toleration, "value"));
    if !key.is_empty() {
        names::qualified(errors, &path.child("key"), key);
    }
    match text(toleration, "operator") {
        "Exists" if !value.is_empty() => {
            names::wrong(errors, &path.child("value"), value, "must be empty for operator `Exists`");
        }
        "Exists" => {}
        "Equal" => names::label_value(errors, &path.child("value"), value),
        other => names::one_of(errors, &path.child("operator"), other, &["Equal", "Exists"]),
    }
    if !text(toleration, "effect").is_empty() {
        let effects = &["NoExecute", "NoSchedule", "None"];
        names::one_of_if_set(errors, &path.child("effect"), at(toleration, "effect"), effects);
    }
}

/// Which requests something is about: none means all.
fn of_requests(errors: &mut Errors, path: &Path<'_>, of: &Value, requests: &[Value]) {
    let path = path.child("requests");
    let named = list(of, "requests");
    parts::at_most(errors, &path, named.len(), MOST);
    for (i, name) in named.iter().enumerate() {
        let path = path.index(i);
        of_request(errors, &path, name.as_str().unwrap_or_default(), requests);
        if named.iter().take(i).any(|other| other == name) {
            errors.duplicate(&path, name);
        }
    }
}

/// `request`, `request/option`.
fn of_request(errors: &mut Errors, path: &Path<'_>, name: &str, requests: &[Value]) {
    let (main, option) = name.split_once('/').map_or((name, None), |(main, option)| (main, Some(option)));
    [Some(main), option].into_iter().flatten().for_each(|part| names::label(errors, path, part));
    let is_there = requests.iter().find(|request| text(request, "name") == main).is_some_and(|request| {
        let options = list(request, "firstAvailable");
        option.is_none_or(|option| options.iter().any(|one| text(one, "name") == option))
    });
    if !is_there {
        names::wrong(errors, path, name, NO_REQUEST);
    }
}

fn one_attribute(errors: &mut Errors, path: &Path<'_>, constraint: &Value) {
    match (at(constraint, "matchAttribute"), at(constraint, "distinctAttribute")) {
        (Value::String(_), Value::String(_)) => {
            let detail = r#"exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set"#;
            errors.required(path, detail);
        }
        (Value::String(same), _) => parts::fully_qualified(errors, &path.child("matchAttribute"), same),
        (_, Value::String(other)) => parts::fully_qualified(errors, &path.child("distinctAttribute"), other),
        _ => errors.required(path, r#"exactly one of "matchAttribute" or "distinctAttribute" is required"#),
    }
}

pub(super) fn status(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::root("status");
    let (now, before) = (at(new, "status"), at(old, "status"));
    let given = at(now, "allocation");
    let at_given = path.child("allocation");
    match (has(before, "allocation"), given.is_null()) {
        (_, true) => {}
        (false, false) => {
            allocation(errors, &at_given, given, list(at(at(new, "spec"), "devices"), "requests"));
        }
        (true, false) if !same(given, at(before, "allocation")) => {
            errors.invalid(&at_given, given, workload::IMMUTABLE);
        }
        (true, false) => {}
    }
    let users = list(now, "reservedFor");
    let path = path.child("reservedFor");
    parts::at_most(errors, &path, users.len(), 256);
    for (i, user) in users.iter().enumerate() {
        let path = path.index(i);
        for field in ["resource", "name", "uid"] {
            if text(user, field).is_empty() {
                errors.required(&path.child(field), "");
            }
        }
        if users.iter().take(i).any(|other| text(other, "uid") == text(user, "uid")) {
            errors.duplicate(&path, at(user, "uid"));
        }
    }
    let is_new = |user: &Value| !list(before, "reservedFor").contains(user);
    if !users.is_empty() && given.is_null() {
        errors.forbidden(&path, "may not be specified when `allocated` is not set");
    } else if Meta::of(new).is_leaving() && users.iter().any(is_new) {
        let detail =
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        errors.forbidden(&path, detail);
    }
}

fn allocation(errors: &mut Errors, path: &Path<'_>, given: &Value, requests: &[Value]) {
    let devices = at(given, "devices");
    let (results, configs) = (list(devices, "results"), list(devices, "config"));
    let at_devices = path.child("devices");
    parts::at_most(errors, &at_devices.child("results"), results.len(), 32);
    for (i, result) in results.iter().enumerate() {
        let path = at_devices.child("results");
        of_request(errors, &path.index(i).child("request"), text(result, "request"), requests);
        super::device::place(errors, &path.index(i), result);
    }
    parts::at_most(errors, &at_devices.child("config"), configs.len(), 64);
    for (i, config) in configs.iter().enumerate() {
        let path = at_devices.child("config");
        let path = path.index(i);
        names::one_of(errors, &path.child("source"), text(config, "source"), &["FromClaim", "FromClass"]);
        of_requests(errors, &path, config, requests);
        parts::opaque(errors, &path, config);
    }
    if has(given, "nodeSelector") {
        scheduling::node_selector(errors, &path.child("nodeSelector"), at(given, "nodeSelector"));
    }
}
