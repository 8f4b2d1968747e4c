//! Which requests a webhook or policy is asked about, and whom it asks.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::strategies::fields::{at, has, int, list, number, text, texts};
use crate::strategies::names;

const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

pub(super) fn webhook(errors: &mut Errors, path: &Path<'_>, hook: &Value) {
    full_name(errors, &path.child("name"), text(hook, "name"));
    for (i, rule) in list(hook, "rules").iter().enumerate() {
        one_rule(errors, &path.child("rules").index(i), rule);
    }
    for (field, known) in [("failurePolicy", ["Fail", "Ignore"]), ("matchPolicy", ["Equivalent", "Exact"])] {
        names::one_of_if_set(errors, &path.child(field), at(hook, field), &known);
    }
    match at(hook, "sideEffects") {
        Value::Null => errors.required(&path.child("sideEffects"), "must specify one of None, NoneOnDryRun"),
        effects => {
            names::one_of_if_set(errors, &path.child("sideEffects"), effects, &["None", "NoneOnDryRun"])
        }
    }
    if let Some(seconds) = int(hook, "timeoutSeconds")
        && !(1..=30).contains(&seconds)
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(&path.child("timeoutSeconds"), &seconds.into(), detail);
    }
    for field in ["namespaceSelector", "objectSelector"] {
        names::selector(errors, &path.child(field), at(hook, field));
    }
    let again = at(hook, "reinvocationPolicy");
    names::one_of_if_set(errors, &path.child("reinvocationPolicy"), again, &["IfNeeded", "Never"]);
    client(errors, &path.child("clientConfig"), at(hook, "clientConfig"));
    review_versions(errors, &path.child("admissionReviewVersions"), hook);
    let conditions = list(hook, "matchConditions");
    super::expressions::conditions(errors, &path.child("matchConditions"), conditions, false);
}

/// A domain of at least three parts.
fn full_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() {
        errors.required(path, "");
    } else if !names::is_subdomain(name) {
        names::subdomain(errors, path, name);
    } else if name.split('.').count() < 3 {
        names::wrong(errors, path, name, "should be a domain with at least three segments separated by dots");
    }
}

fn one_rule(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    for (field, called) in
        [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")]
    {
        let values = list(rule, field);
        if values.is_empty() {
            errors.required(&path.child(field), "");
        }
        if values.len() > 1 && texts(rule, field).any(|value| value == "*") {
            let detail = format!("if '*' is present, must not specify other {called}");
            errors.invalid(&path.child(field), at(rule, field), &detail);
        }
        if field == "operations" {
            for (i, operation) in values.iter().enumerate() {
                names::one_of_if_set(errors, &path.child(field).index(i), operation, OPERATIONS);
            }
        }
    }
    let resources = list(rule, "resources");
    if resources.is_empty() {
        errors.required(&path.child("resources"), "");
    }
    for (i, resource) in texts(rule, "resources").enumerate() {
        if resource.is_empty() {
            errors.required(&path.child("resources").index(i), "");
        }
    }
    if resources.len() > 1 && texts(rule, "resources").any(|resource| resource == "*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.invalid(&path.child("resources"), at(rule, "resources"), detail);
    }
    names::one_of_if_set(errors, &path.child("scope"), at(rule, "scope"), &["*", "Cluster", "Namespaced"]);
}

fn client(errors: &mut Errors, path: &Path<'_>, client: &Value) {
    match (at(client, "url").as_str(), has(client, "service")) {
        (Some(url), false) => web_address(errors, &path.child("url"), url),
        (None, true) => {
            let (path, service) = (path.child("service"), at(client, "service"));
            for field in ["name", "namespace"] {
                if text(service, field).is_empty() {
                    errors.required(&path.child(field), "");
                }
            }
            let port = number(service, "port");
            if !(1..=65535).contains(&port) {
                let detail = "port is not valid: must be between 1 and 65535, inclusive";
                errors.invalid(&path.child("port"), &port.into(), detail);
            }
            let place = text(service, "path");
            if !place.is_empty() && !place.starts_with('/') {
                names::wrong(errors, &path.child("path"), place, "must start with a '/'");
            }
        }
        _ => errors.required(path, "exactly one of url or service is required"),
    }
}

fn web_address(errors: &mut Errors, path: &Path<'_>, url: &str) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        names::wrong(errors, path, scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    let host = if scheme.is_empty() { "" } else { rest.split(['/', '?', '#']).next().unwrap_or_default() };
    if host.is_empty() {
        names::wrong(errors, path, host, &format!("host must be specified{FORM}"));
    }
    if let Some((user, _)) = host.split_once('@') {
        names::wrong(errors, path, user, "user information is not permitted in the URL");
    }
    if let Some((_, fragment)) = rest.split_once('#') {
        names::wrong(errors, path, fragment, "fragments are not permitted in the URL");
    }
    if let Some((_, query)) = rest.split_once('?') {
        names::wrong(errors, path, query, "query parameters are not permitted in the URL");
    }
}

fn review_versions(errors: &mut Errors, path: &Path<'_>, hook: &Value) {
    let versions: Vec<&str> = texts(hook, "admissionReviewVersions").collect();
    if versions.is_empty() {
        return errors.required(path, "must specify one of v1, v1beta1");
    }
    for (i, version) in versions.iter().enumerate() {
        if versions.iter().take(i).any(|other| other == version) {
            names::wrong(errors, &path.index(i), version, "duplicate version");
        } else {
            names::label_1035(errors, &path.index(i), version);
        }
    }
    if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        errors.invalid(path, at(hook, "admissionReviewVersions"), "must include at least one of v1, v1beta1");
    }
}

/// The resources that a policy or its binding is about.
pub(super) fn resources(errors: &mut Errors, path: &Path<'_>, resources: &Value) {
    let policy = text(resources, "matchPolicy");
    names::one_of(errors, &path.child("matchPolicy"), policy, &["Equivalent", "Exact"]);
    for field in ["namespaceSelector", "objectSelector"] {
        names::selector(errors, &path.child(field), at(resources, field));
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        for (i, rule) in list(resources, field).iter().enumerate() {
            let path = path.child(field);
            let path = path.index(i);
            let named: Vec<&str> = texts(rule, "resourceNames").collect();
            for (i, name) in named.iter().enumerate() {
                let path = path.child("resourceNames");
                segment(errors, &path.index(i), name);
                if named.iter().take(i).any(|other| other == name) {
                    errors.duplicate(&path.index(i), &(*name).into());
                }
            }
            one_rule(errors, &path, rule);
        }
    }
}

/// What goes cannot be changed by a policy any more.
pub(super) fn changing(errors: &mut Errors, path: &Path<'_>, resources: &Value) {
    let (path, known) = (path.child("resourceRules"), ["*", "CONNECT", "CREATE", "UPDATE"]);
    for rule in list(resources, "resourceRules") {
        for operation in texts(rule, "operations").filter(|operation| !known.contains(operation)) {
            errors.not_supported(&path.child("operations"), &operation.into(), &known);
        }
    }
}

pub(super) fn param_kind(errors: &mut Errors, path: &Path<'_>, kind: &Value) {
    let at_version = path.child("apiVersion");
    match text(kind, "apiVersion") {
        "" => errors.required(&at_version, ""),
        both if both.matches('/').count() > 1 => {
            names::wrong(errors, &at_version, both, &format!("unexpected GroupVersion string: {both}"));
        }
        both => {
            let (group, version) = both.split_once('/').unwrap_or(("", both));
            if !group.is_empty() {
                names::subdomain(errors, &at_version, group);
            }
            if version.is_empty() {
                names::wrong(errors, &at_version, both, "version must be specified");
            } else {
                names::label_1035(errors, &at_version, version);
            }
        }
    }
    match text(kind, "kind") {
        "" => errors.required(&path.child("kind"), ""),
        name => {
            let faults = kedge_kinds::names::dns1035_label(&name.to_lowercase());
            if !faults.is_empty() {
                let detail = format!("may have mixed case, but should otherwise match: {}", faults.join(","));
                names::wrong(errors, &path.child("kind"), name, &detail);
            }
        }
    }
}

pub(super) fn param_ref(errors: &mut Errors, path: &Path<'_>, param: &Value) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, selects) = (text(param, "name"), has(param, "selector"));
    if !name.is_empty() {
        segment(errors, &path.child("name"), name);
        if selects {
            errors.forbidden(&path.child("name"), EXCLUSIVE);
        }
    }
    if selects {
        names::selector(errors, &path.child("selector"), at(param, "selector"));
        if !name.is_empty() {
            errors.forbidden(&path.child("selector"), EXCLUSIVE);
        }
    }
    if name.is_empty() && !selects {
        errors.required(path, "one of name or selector must be specified");
    }
    let action = text(param, "parameterNotFoundAction");
    names::one_of(errors, &path.child("parameterNotFoundAction"), action, &["Deny", "Allow"]);
}

/// What can stand in a path between two slashes.
fn segment(errors: &mut Errors, path: &Path<'_>, name: &str) {
    for fault in kedge_kinds::names::path_segment(name) {
        names::wrong(errors, path, name, &fault);
    }
}

pub(super) fn actions(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let actions: Vec<&str> = texts(spec, "validationActions").collect();
    if actions.is_empty() {
        errors.required(path, "at least one validation action is required");
    }
    for (i, action) in actions.iter().enumerate() {
        names::one_of(errors, &path.index(i), action, &["Audit", "Deny", "Warn"]);
        if actions.iter().take(i).any(|other| other == action) {
            errors.duplicate(&path.index(i), &(*action).into());
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the \
             API response and headers serves no purpose)";
        errors.invalid(path, at(spec, "validationActions"), detail);
    }
}
