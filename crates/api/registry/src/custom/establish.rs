//! What a definition's status shall say: its names, whether they were accepted, whether it is served. Decides only.

use serde_json::{Value, json};

use super::names::{self, Taken};
use crate::object;

/// A definition's next status and whether its kind is to be served with it.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) status: Value,
    pub(super) established: bool,
}

/// `now` is what a condition that changes is dated with.
pub(super) fn plan(definition: &Value, taken: &Taken, now: &str) -> Plan {
    let empty = json!({});
    let mut status = definition.get("status").cloned().unwrap_or_else(|| empty.clone());
    let asked = object::at(definition, &["spec", "names"]).unwrap_or(&empty);
    let accepted = object::at(definition, &["status", "acceptedNames"]).unwrap_or(&empty);
    let name = object::meta_text(definition, "name");
    let decided = names::accept(asked, accepted, taken, name);
    object::as_map(&mut status).insert("acceptedNames".to_owned(), decided.names);
    let (holds, reason, message) = match &decided.conflict {
        None => (true, "NoConflicts", "no conflicts found"),
        Some((reason, message)) => (false, *reason, message.as_str()),
    };
    set(&mut status, "NamesAccepted", holds, reason, message, now);
    // Once served, a kind stays so whatever its next names are.
    let established = holds || is_true(&status, "Established");
    if holds && !is_true(&status, "Established") {
        let message = "the initial names have been accepted";
        set(&mut status, "Established", true, "InitialNamesAccepted", message, now);
    } else if !established {
        set(&mut status, "Established", false, "NotAccepted", "not all names are accepted", now);
    }
    approve(definition, &mut status, now);
    Plan { status, established }
}

/// Groups that belong to Kubernetes are for those who were allowed to use them.
fn approve(definition: &Value, status: &mut Value, now: &str) {
    let group = object::text(definition, &["spec", "group"]);
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owner| group == *owner || group.strip_suffix(owner).is_some_and(|rest| rest.ends_with('.')));
    if !protected {
        return;
    }
    let approval = object::at(definition, &["metadata", "annotations", "api-approved.kubernetes.io"])
        .and_then(Value::as_str);
    let (holds, reason, message) = match approval {
        None | Some("") => {
            let message = "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111";
            (false, "MissingAnnotation", message.to_owned())
        }
        Some(text) if text.starts_with("unapproved") => {
            (false, "UnapprovedAnnotation", format!("not approved: {text:?}"))
        }
        Some(text) if text.contains("://") => (true, "ApprovedAnnotation", format!("approved in {text}")),
        Some(text) => (
            false,
            "InvalidAnnotation",
            format!(
                "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111, found: {text:?}"
            ),
        ),
    };
    set(status, "KubernetesAPIApprovalPolicyConformant", holds, reason, &message, now);
}

pub(super) fn is_true(status: &Value, kind: &str) -> bool {
    condition(status, kind).is_some_and(|found| object::text(found, &["status"]) == "True")
}

fn condition<'v>(status: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = status.get("conditions").and_then(Value::as_array)?;
    conditions.iter().find(|one| object::text(one, &["type"]) == kind)
}

/// Sets a condition; its date changes only with its status.
pub(super) fn set(status: &mut Value, kind: &str, holds: bool, reason: &str, message: &str, now: &str) {
    let holds = if holds { "True" } else { "False" };
    let since = match condition(status, kind) {
        Some(found) if object::text(found, &["status"]) == holds => {
            object::text(found, &["lastTransitionTime"]).to_owned()
        }
        _ => now.to_owned(),
    };
    let next = json!({"type": kind, "status": holds, "lastTransitionTime": since, "reason": reason, "message": message});
    let list = object::as_map(status).entry("conditions").or_insert(Value::Null);
    if !list.is_array() {
        *list = json!([]);
    }
    if let Some(list) = list.as_array_mut() {
        match list.iter_mut().find(|one| object::text(one, &["type"]) == kind) {
            Some(found) => *found = next,
            None => list.push(next),
        }
    }
}

#[cfg(test)]
mod tests;
