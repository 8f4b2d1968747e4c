//! What containers and pods ask for and may use.

use std::collections::BTreeSet;

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::quantity::Quantity;
use serde_json::{Map, Value};

use crate::strategies::amounts::{self, amount, shown};
use crate::strategies::fields::{at, has, list, map, text};
use crate::strategies::names;

pub(super) fn of_container(errors: &mut Errors, path: &Path<'_>, container: &Value, spec: &Value) {
    let resources = at(container, "resources");
    requirements(errors, path, resources, amounts::container_resource);
    claims(errors, &path.child("claims"), resources, spec);
}

pub(super) fn overhead(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let path = path.child("limits");
    for (name, value) in map(spec, "overhead") {
        amounts::container_resource(errors, &path.key(name), name);
        amounts::resource_amount(errors, &path.key(name), name, value);
    }
}

/// Requests and limits of the pod as a whole.
pub(super) fn of_pod(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if !has(spec, "resources") {
        return;
    }
    let path = path.child("resources");
    let resources = at(spec, "resources");
    if text(at(spec, "os"), "name") == "windows" {
        return errors.forbidden(&path, "may not be set for a windows pod");
    }
    if has(resources, "claims") {
        errors.forbidden(&path.child("claims"), "claims may not be set for Resources at pod-level");
    }
    requirements(errors, &path, resources, |errors, path, name| {
        if !matches!(name, "cpu" | "memory") && !amounts::is_huge_pages(name) {
            errors.not_supported(path, &name.into(), &["cpu", "hugepages-", "memory"]);
        }
    });
    consistent_with_containers(errors, &path, spec);
}

fn consistent_with_containers(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let resources = at(spec, "resources");
    for (name, value) in map(resources, "requests") {
        let together = list(spec, "containers")
            .iter()
            .filter_map(|container| map(at(container, "resources"), "requests").get(name))
            .fold(Quantity::default(), |sum, one| sum.plus(&amount(one)));
        if together > amount(value) {
            let detail =
                format!("must be greater than or equal to aggregate container requests of {together}");
            errors.invalid(&path.child("requests").key(name), &shown(value), &detail);
        }
    }
    for (i, container) in list(spec, "containers").iter().enumerate() {
        for (name, value) in map(at(container, "resources"), "limits") {
            let Some(most) = map(resources, "limits").get(name) else { continue };
            if amount(value) > amount(most) {
                let detail = format!("must be less than or equal to pod limits of {}", amount(most));
                let path = path.child("containers");
                errors.invalid(&path.index(i).key(name).child("limits"), &shown(value), &detail);
            }
        }
    }
}

fn requirements(
    errors: &mut Errors,
    path: &Path<'_>,
    resources: &Value,
    check_name: impl Fn(&mut Errors, &Path<'_>, &str),
) {
    let (limits, requests) = (map(resources, "limits"), map(resources, "requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    let (at_limits, at_requests) = (path.child("limits"), path.child("requests"));
    for (path, amounts_of) in [(&at_limits, limits), (&at_requests, requests)] {
        for (name, value) in amounts_of {
            let path = path.key(name);
            check_name(errors, &path, name);
            amounts::resource_amount(errors, &path, name, value);
            huge_pages(errors, &path, name, value);
            if std::ptr::eq(amounts_of, requests) {
                within_limit(errors, &at_requests, &at_limits, limits, name, value);
            }
        }
    }
    let named = |wanted: &dyn Fn(&str) -> bool| limits.keys().chain(requests.keys()).any(|name| wanted(name));
    if named(&amounts::is_huge_pages) && !named(&|name| matches!(name, "cpu" | "memory")) {
        errors.forbidden(path, "HugePages require cpu or memory");
    }
}

fn within_limit(
    errors: &mut Errors,
    at_requests: &Path<'_>,
    at_limits: &Path<'_>,
    limits: &Map<String, Value>,
    name: &str,
    request: &Value,
) {
    let overcommit = amounts::may_overcommit(name);
    match limits.get(name) {
        Some(limit) if request == limit => {}
        Some(limit) => {
            let (asked, most) = (amount(request), amount(limit));
            if asked != most && !overcommit {
                errors.invalid(
                    at_requests,
                    &shown(request),
                    &format!("must be equal to {name} limit of {most}"),
                );
            } else if asked > most {
                let detail = format!("must be less than or equal to {name} limit of {most}");
                errors.invalid(at_requests, &shown(request), &detail);
            }
        }
        None if !overcommit => {
            errors.required(at_limits, "Limit must be set for non overcommitable resources")
        }
        None => {}
    }
}

fn huge_pages(errors: &mut Errors, path: &Path<'_>, name: &str, value: &Value) {
    let Some(size) = name.strip_prefix("hugepages-") else { return };
    let page = size.parse::<Quantity>().map_or(0, |page| page.value());
    if page <= 0 || amount(value).value() % page != 0 {
        let detail = format!("{} is not positive integer multiple of {name}", amount(value));
        errors.invalid(path, &shown(value), &detail);
    }
}

/// Claims that a container uses must be claims of the pod.
fn claims(errors: &mut Errors, path: &Path<'_>, resources: &Value, spec: &Value) {
    let claims = list(resources, "claims");
    for (i, claim) in claims.iter().enumerate() {
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        if name.is_empty() {
            errors.required(&path.index(i), "");
            continue;
        }
        let clash = claims.iter().take(i).any(|other| {
            let earlier = text(other, "request");
            text(other, "name") == name && (earlier.is_empty() || request.is_empty() || earlier == request)
        });
        if clash {
            errors.duplicate(&path.index(i), &name.into());
        } else if !request.is_empty() {
            names::label(errors, &path.index(i).child("request"), request);
        }
        let known: BTreeSet<&str> =
            list(spec, "resourceClaims").iter().map(|known| text(known, "name")).collect();
        if !known.contains(name) {
            let choice = if known.is_empty() {
                " which is empty".to_owned()
            } else {
                format!(": {}", known.into_iter().collect::<Vec<_>>().join(", "))
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{choice}");
            errors.not_found_among(&path.index(i), &name.into(), &detail);
        }
    }
}

pub(super) fn pod_claims(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let claims = list(spec, "resourceClaims");
    for (i, claim) in claims.iter().enumerate() {
        let path = path.index(i);
        match text(claim, "name") {
            "" => errors.required(&path.child("name"), ""),
            name if claims.iter().take(i).any(|other| text(other, "name") == name) => {
                errors.duplicate(&path.child("name"), &name.into());
            }
            name => names::label(errors, &path.child("name"), name),
        }
        match (has(claim, "resourceClaimName"), has(claim, "resourceClaimTemplateName")) {
            (true, true) => {
                let detail =
                    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                errors.invalid(&path, claim, detail);
            }
            (false, false) => {
                let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                errors.invalid(&path, claim, detail);
            }
            _ => {}
        }
        for field in ["resourceClaimName", "resourceClaimTemplateName"] {
            if has(claim, field) {
                names::subdomain(errors, &path.child(field), text(claim, field));
            }
        }
    }
}
