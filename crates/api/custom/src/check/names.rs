//! The names under which a kind is served.

use kedge_kinds::field::{Errors, Path};
use kedge_kinds::names::dns1035_label;
use serde_json::Value;

use crate::embedded::mixed_case;
use crate::read::{at, text, texts};

/// A definition asks for all of these; what was accepted may still be empty.
pub(super) fn required(names: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(names, field).is_empty() {
            errors.required(&path.child(field), "");
        }
    }
}

pub(super) fn check(names: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["plural", "singular"] {
        let name = text(names, field);
        if !name.is_empty() {
            label(name, &path.child(field), errors);
        }
    }
    for field in ["kind", "listKind"] {
        let name = text(names, field);
        if let Some(detail) = mixed_case(name).filter(|_| !name.is_empty()) {
            errors.invalid(&path.child(field), &name.into(), &detail);
        }
    }
    for (at, name) in texts(names, "shortNames").enumerate() {
        label(name, &path.child("shortNames").index(at), errors);
    }
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.invalid(&path.child("listKind"), at(names, "listKind"), detail);
    }
    for (at, name) in texts(names, "categories").enumerate() {
        label(name, &path.child("categories").index(at), errors);
    }
}

/// Whatever is wrong with a label is told at once.
pub(super) fn label(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let wrong = dns1035_label(name);
    if !wrong.is_empty() {
        errors.invalid(path, &name.into(), &wrong.join(","));
    }
}
