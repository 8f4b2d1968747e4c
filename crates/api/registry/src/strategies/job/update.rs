//! What may change in a Job, and in its status.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::strategies::fields::{at, flag, has, int, list, number, same, same_but, text, texts};
use crate::strategies::{names, workload};

/// Only how many run at once, deadlines and limits change; while it sleeps, also where the pods may run.
pub(super) fn spec(errors: &mut Errors, new_job: &Value, old_job: &Value) {
    let path = Path::root("spec");
    let (new, old) = (at(new_job, "spec"), at(old_job, "spec"));
    if text(new, "completionMode") != "Indexed" {
        workload::immutable(errors, &path, new, old, &["completions"]);
    } else if int(new, "completions") != int(old, "completions")
        && int(new, "completions") != int(new, "parallelism")
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.invalid(&path.child("completions"), at(new, "completions"), detail);
    }
    workload::immutable(errors, &path, new, old, &["selector"]);
    if !same_template(new, old, sleeps(old_job)) {
        errors.invalid(&path.child("template"), at(new, "template"), "field is immutable");
    }
    const FIXED: &[&str] =
        &["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"];
    workload::immutable(errors, &path, new, old, FIXED);
}

/// It is suspended, and none of its pods is left from before.
fn sleeps(job: &Value) -> bool {
    let status = at(job, "status");
    let is_noted = || holds(status, "Suspended");
    flag(at(job, "spec"), "suspend")
        && (!has(status, "startTime") || is_noted())
        && number(status, "active") == 0
}

fn holds(status: &Value, condition: &str) -> bool {
    let conditions = list(status, "conditions").iter();
    conditions.into_iter().any(|one| text(one, "type") == condition && text(one, "status") == "True")
}

fn same_template(new: &Value, old: &Value, sleeps: bool) -> bool {
    let (now, before) = (at(new, "template"), at(old, "template"));
    if !sleeps {
        return same(now, before);
    }
    let (now, before) = (at(now, "spec"), at(before, "spec"));
    same_but(now, before, |field| match field {
        "nodeSelector" | "tolerations" | "schedulingGates" => Some(true),
        "affinity" => Some(
            ["podAffinity", "podAntiAffinity"]
                .iter()
                .all(|kind| same(at(at(now, "affinity"), kind), at(at(before, "affinity"), kind))),
        ),
        "containers" | "initContainers" => Some(same_but_resources(list(now, field), list(before, field))),
        _ => None,
    })
}

fn same_but_resources(new: &[Value], old: &[Value]) -> bool {
    let same_one = |(now, before): (&Value, &Value)| {
        same_but(now, before, |field| (field == "resources").then_some(true))
    };
    new.len() == old.len() && new.iter().zip(old).all(same_one)
}

pub(super) fn status(errors: &mut Errors, new: &Value, old: &Value) {
    let (path, now, before) = (Path::root("status"), at(new, "status"), at(old, "status"));
    let spec = at(new, "spec");
    workload::not_negative(errors, &path, now, &["active", "succeeded", "failed", "ready", "terminating"]);
    let conditions = path.child("conditions");
    for (one, other) in [("Complete", "Failed"), ("Complete", "FailureTarget")] {
        if holds(now, one) && holds(now, other) {
            let shown = if other == "Failed" { "Failed=true" } else { "FailureTarget=true" };
            errors.invalid_unshown(&conditions, &format!("cannot set {one}=True and {shown} conditions"));
        }
    }
    if has(now, "completionTime") && !holds(now, "Complete") {
        let detail = "cannot set completionTime when there is no Complete=True condition";
        errors.invalid(&path.child("completionTime"), at(now, "completionTime"), detail);
    }
    if !has(now, "completionTime") && holds(now, "Complete") {
        errors.required(&path.child("completionTime"), "completionTime is required for Complete jobs");
    }
    let finished = holds(now, "Complete") || holds(now, "Failed");
    if number(now, "active") > 0 && finished {
        errors.invalid(&path.child("active"), at(now, "active"), "active>0 is invalid for finished job");
    }
    if !has(now, "startTime") && finished {
        errors.required(&path.child("startTime"), "startTime is required for finished job");
    }
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if holds(before, kind) && !holds(now, kind) {
            errors
                .invalid_unshown(&conditions, &format!("cannot disable the terminal {kind}=True condition"));
        }
    }
    // A job whose indexes are all wanted at once may be scaled down; those beyond the end no longer count.
    let elastic =
        text(spec, "completionMode") == "Indexed" && same(at(spec, "completions"), at(spec, "parallelism"));
    let growing: &[&str] = if elastic { &["failed"] } else { &["failed", "succeeded"] };
    for counter in growing {
        if number(now, counter) < number(before, counter) {
            let detail = format!("cannot decrease the {counter} counter");
            errors.invalid(&path.child(counter), at(now, counter), &detail);
        }
    }
    let mut counted: Vec<&str> = Vec::new();
    for list_of in ["succeeded", "failed"] {
        let uncounted = at(now, "uncountedTerminatedPods");
        for (i, uid) in texts(uncounted, list_of).enumerate() {
            let path = path.child("uncountedTerminatedPods");
            let path = path.child(list_of);
            if uid.is_empty() {
                names::wrong(errors, &path.index(i), uid, "must not be empty");
            } else if counted.contains(&uid) {
                errors.duplicate(&path.index(i), &uid.into());
            }
            counted.push(uid);
        }
    }
}
