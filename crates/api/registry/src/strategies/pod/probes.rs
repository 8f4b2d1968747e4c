//! Probes and lifecycle handlers of a container.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::check::Around;
use crate::strategies::fields::{at, has, int, list, number, text};
use crate::strategies::names;

pub(super) fn of_container(errors: &mut Errors, path: &Path<'_>, container: &Value, around: &Around<'_>) {
    let grace = int(around.spec, "terminationGracePeriodSeconds");
    lifecycle(errors, &path.child("lifecycle"), at(container, "lifecycle"), around, grace);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let found = at(container, name);
        if found.is_null() {
            continue;
        }
        let path = path.child(name);
        probe(errors, &path, found, grace);
        if name == "readinessProbe" {
            if has(found, "terminationGracePeriodSeconds") {
                let path = path.child("terminationGracePeriodSeconds");
                errors.invalid(
                    &path,
                    at(found, "terminationGracePeriodSeconds"),
                    "must not be set for readinessProbes",
                );
            }
        } else if number(found, "successThreshold") != 1 {
            errors.invalid(&path.child("successThreshold"), at(found, "successThreshold"), "must be 1");
        }
    }
}

fn probe(errors: &mut Errors, path: &Path<'_>, probe: &Value, grace: Option<i64>) {
    handler(errors, path, probe, grace);
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        names::not_negative(errors, &path.child(field), number(probe, field));
    }
    if let Some(seconds) = int(probe, "terminationGracePeriodSeconds") {
        names::positive(errors, &path.child("terminationGracePeriodSeconds"), seconds);
    }
}

fn lifecycle(
    errors: &mut Errors,
    path: &Path<'_>,
    lifecycle: &Value,
    around: &Around<'_>,
    grace: Option<i64>,
) {
    for event in ["postStart", "preStop"] {
        if has(lifecycle, event) {
            handler(errors, &path.child(event), at(lifecycle, event), grace);
        }
    }
    if has(lifecycle, "stopSignal") && !has(around.spec, "os") {
        errors
            .forbidden(&path.child("stopSignal"), "may not be set for containers with empty `spec.os.name`");
    }
}

/// Exactly one way to ask the container something.
fn handler(errors: &mut Errors, path: &Path<'_>, handler: &Value, grace: Option<i64>) {
    let mut found = false;
    for way in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = at(handler, way);
        if action.is_null() {
            continue;
        }
        let path = path.child(way);
        if found {
            errors.forbidden(&path, "may not specify more than 1 handler type");
            continue;
        }
        found = true;
        match way {
            "exec" if list(action, "command").is_empty() => errors.required(&path.child("command"), ""),
            "exec" => {}
            "httpGet" => http_get(errors, &path, action),
            "sleep" => sleep(errors, &path, number(action, "seconds"), grace),
            _ => names::port(errors, &path.child("port"), at(action, "port")),
        }
    }
    if !found {
        errors.required(path, "must specify a handler type");
    }
}

fn http_get(errors: &mut Errors, path: &Path<'_>, action: &Value) {
    if text(action, "path").is_empty() {
        errors.required(&path.child("path"), "");
    }
    names::port(errors, &path.child("port"), at(action, "port"));
    names::one_of_if_set(errors, &path.child("scheme"), at(action, "scheme"), &["HTTP", "HTTPS"]);
    for header in list(action, "httpHeaders") {
        names::header(errors, &path.child("httpHeaders"), text(header, "name"));
    }
}

fn sleep(errors: &mut Errors, path: &Path<'_>, seconds: i64, grace: Option<i64>) {
    let grace = grace.unwrap_or(30);
    if seconds < 0 || seconds > grace {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid(path, &seconds.into(), &detail);
    }
}
