//! Groups that belong to Kubernetes itself are not for everybody: a definition in one says where it was approved.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::read::{at, text};

const ANNOTATION: &str = "api-approved.kubernetes.io";

#[derive(PartialEq, Eq)]
enum State {
    Approved,
    Bypassed,
    Missing,
    Invalid,
}

pub(super) fn check(definition: &Value, old: Option<&Value>, errors: &mut Errors) {
    let group = text(at(definition, "spec"), "group");
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    // Who only changes something else is not asked again.
    if !protected || old.is_some_and(|old| state(old) == state(definition)) {
        return;
    }
    let metadata = Path::root("metadata");
    let annotations = metadata.child("annotations");
    let path = annotations.key(ANNOTATION);
    let demand = format!("protected groups must have approval annotation {ANNOTATION:?}");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match state(definition) {
        State::Approved | State::Bypassed => {}
        State::Missing => errors.required(&path, &format!("{demand}, {see}")),
        State::Invalid => {
            let detail =
                format!("{demand} with either a URL or a reason starting with \"unapproved\", {see}");
            errors.invalid(&path, &annotation(definition).into(), &detail);
        }
    }
}

fn annotation(definition: &Value) -> &str {
    text(at(at(definition, "metadata"), "annotations"), ANNOTATION)
}

fn state(definition: &Value) -> State {
    let annotation = annotation(definition);
    let host = annotation
        .split_once("://")
        .filter(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/'));
    match annotation {
        "" => State::Missing,
        text if text.starts_with("unapproved") => State::Bypassed,
        _ if host.is_some() => State::Approved,
        _ => State::Invalid,
    }
}
