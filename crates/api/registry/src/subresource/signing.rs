//! CertificateSigningRequests: who asks is written down by us, and of the answer each subresource may only give its part.
//! `approval` says yes or no, `status` gives the certificate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kedge_kinds::Kind;
use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use crate::request::User;
use crate::{metadata, object};

const ANSWERS: [&str; 2] = ["Approved", "Denied"];

fn concerns(kind: &Kind) -> bool {
    &*kind.kind == "CertificateSigningRequest" && &*kind.gv.group == "certificates.k8s.io"
}

/// Whoever sends a request is its author, whatever it says.
pub(crate) fn author(kind: &Kind, request: &mut Value, user: &User) {
    if !concerns(kind) {
        return;
    }
    let spec = object::map_mut(request, "spec");
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    for (field, value) in [("username", &user.name), ("uid", &user.uid)] {
        if !value.is_empty() {
            spec.insert(field.to_owned(), value.as_str().into());
        }
    }
    if !user.groups.is_empty() {
        spec.insert("groups".to_owned(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(user.extra));
    }
}

fn conditions(request: &Value) -> &[Value] {
    let listed = object::at(request, &["status", "conditions"]).and_then(Value::as_array);
    listed.map_or(&[], Vec::as_slice)
}

fn of_type<'o>(request: &'o Value, kind: &str) -> Vec<&'o Value> {
    conditions(request).iter().filter(|one| object::text(one, &["type"]) == kind).collect()
}

/// Dates new conditions; through `status` the answer stays as it was given.
pub(crate) fn prepare(kind: &Kind, part: Option<&str>, new: &mut Value, old: &Value, now: Timestamp) {
    if !concerns(kind) || !matches!(part, Some("approval" | "status")) {
        return;
    }
    let mut kept: Vec<Value> = conditions(new).to_vec();
    if part == Some("approval") {
        object::carry(object::as_map(new), old.get("status"), "status");
        object::map_mut(new, "status").remove("conditions");
    }
    if part == Some("status") {
        for answer in ANSWERS {
            let before = of_type(old, answer);
            let mut same = kept.iter_mut().filter(|one| object::text(one, &["type"]) == answer);
            if of_type(new, answer).len() == before.len() {
                before.into_iter().for_each(|one| {
                    if let Some(slot) = same.next() {
                        *slot = one.clone();
                    }
                });
            }
        }
    }
    let now = metadata::time(now);
    for condition in &mut kept {
        let missing = |condition: &Value, field: &str| condition.get(field).is_none_or(Value::is_null);
        if missing(condition, "lastUpdateTime") {
            object::as_map(condition).insert("lastUpdateTime".to_owned(), now.as_str().into());
        }
        if missing(condition, "lastTransitionTime") {
            let same = conditions(old).iter().find(|one| {
                one.get("type") == condition.get("type") && one.get("status") == condition.get("status")
            });
            let since = same.and_then(|one| one.get("lastTransitionTime")).cloned();
            let since = since.unwrap_or_else(|| now.as_str().into());
            object::as_map(condition).insert("lastTransitionTime".to_owned(), since);
        }
    }
    if !kept.is_empty() {
        object::map_mut(new, "status").insert("conditions".to_owned(), kept.into());
    }
}

/// What may not be said through this subresource, or not any more.
pub(crate) fn validate(kind: &Kind, part: Option<&str>, new: &Value, old: &Value, errors: &mut Errors) {
    if !concerns(kind) || !matches!(part, Some("approval" | "status")) {
        return;
    }
    let status = Path::root("status");
    let path = status.child("conditions");
    for answer in ["Approved", "Denied", "Failed"] {
        let (before, after) = (of_type(old, answer).len(), of_type(new, answer).len());
        if after < before {
            errors.forbidden(&path, &format!("updates may not remove a condition of type {answer:?}"));
        }
        let may_add = (part == Some("approval")) == ANSWERS.contains(&answer) || answer == "Failed";
        if after > before && !may_add {
            errors.forbidden(&path, &format!("updates may not add a condition of type {answer:?}"));
        }
    }
    let certificate = |request| object::text(request, &["status", "certificate"]);
    let (before, after) = (certificate(old), certificate(new));
    if before == after {
        return;
    }
    let path = status.child("certificate");
    if !before.is_empty() {
        errors.forbidden(&path, "updates may not modify existing certificate content");
    }
    let pem = STANDARD.decode(after).unwrap_or_default();
    if !after.is_empty() && !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
        let shown = Value::from("<certificate data>");
        errors.invalid(&path, &shown, "must contain at least one CERTIFICATE PEM block");
    }
}
