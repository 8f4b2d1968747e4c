//! Amounts of resources and the names of what is counted: shared by containers, quotas, limit ranges and volumes.

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::quantity::Quantity;
use serde_json::Value;

use super::names;

const STANDARD: &[&str] = &[
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];
/// Objects are counted in whole numbers.
const WHOLE: &[&str] = &[
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// The amount that a field holds. The schema has already refused what is none.
pub(super) fn amount(value: &Value) -> Quantity {
    match value {
        Value::String(text) => text.parse().unwrap_or_default(),
        other => other.to_string().parse().unwrap_or_default(),
    }
}

/// The amount as messages quote it.
pub(super) fn shown(value: &Value) -> Value {
    amount(value).to_string().into()
}

pub(super) fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// A resource of Kubernetes' own, not a device's.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && names::is_qualified(&format!("requests.{name}"))
}

/// Limits may be above what is promised.
pub(super) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// A resource that is known or named in full.
pub(super) fn resource_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if !names::is_qualified(name) {
        return names::qualified(errors, path, name);
    }
    let huge = is_huge_pages(name) || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !STANDARD.contains(&name) && !huge {
        names::wrong(errors, path, name, "must be a standard resource type or fully qualified");
    }
}

pub(super) fn container_resource(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if matches!(name, "cpu" | "memory" | "ephemeral-storage") {
        return;
    }
    resource_name(errors, path, name);
    if !name.contains('/') {
        if !is_huge_pages(name) {
            names::wrong(errors, path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        names::wrong(errors, path, name, "doesn't follow extended resource name standard");
    }
}

pub(super) fn quota_resource(errors: &mut Errors, path: &Path<'_>, name: &str) {
    resource_name(errors, path, name);
    let huge = is_huge_pages(name) || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !huge && (name == "storage" || !STANDARD.contains(&name)) {
        names::wrong(errors, path, name, "must be a standard resource for quota");
    }
}

/// Not negative, and whole where things are counted.
pub(super) fn resource_amount(errors: &mut Errors, path: &Path<'_>, name: &str, value: &Value) {
    let amount = amount(value);
    if amount.is_negative() {
        errors.invalid(path, &shown(value), "must be greater than or equal to 0");
    }
    if !amount.is_whole() && (WHOLE.contains(&name) || is_extended(name)) {
        errors.invalid(path, &shown(value), "must be an integer");
    }
}

pub(super) fn positive(errors: &mut Errors, path: &Path<'_>, value: &Value) {
    let amount = amount(value);
    if amount.is_negative() || amount.is_zero() {
        errors.invalid(path, &shown(value), "must be greater than zero");
    }
}

/// Amounts finer than a thousandth are rounded up: nothing measures them.
pub(super) fn round(of: &mut Value, field: &str) {
    let Some(Value::Object(amounts)) = of.get_mut(field) else { return };
    for value in amounts.values_mut() {
        let fine =
            value.as_str().is_some_and(|text| text.ends_with(['n', 'u']) || text.contains(['.', 'e', 'E']));
        if fine || value.is_f64() {
            *value = amount(value).rounded_to_milli().to_string().into();
        }
    }
}
