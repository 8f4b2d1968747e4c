//! Whether a Job makes sense, at creation and later.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::{NAME, OLD_NAME, OLD_UID, UID};
use crate::strategies::fields::{at, flag, has, int, list, number, same, same_but, text, texts};
use crate::strategies::{names, workload};

const MANY: i64 = 100_000;

pub(super) fn job(errors: &mut Errors, job: &Value) {
    let (path, inner, metadata) = (Path::root("spec"), at(job, "spec"), at(job, "metadata"));
    generated_labels(errors, &path, inner, metadata);
    spec(errors, &path, inner);
    if !has(inner, "selector") {
        errors.required(&path.child("selector"), "");
    }
    names::selector(errors, &path.child("selector"), at(inner, "selector"));
    let labels = at(at(at(inner, "template"), "metadata"), "labels");
    if !names::selects(at(inner, "selector"), labels) {
        let path = path.child("template");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&path.child("metadata").child("labels"), labels, detail);
    }
    indexed_name(errors, inner, text(metadata, "name"));
}

/// The pods of an indexed job are called after it and their index, and that must be a label.
fn indexed_name(errors: &mut Errors, spec: &Value, name: &str) {
    let last = number(spec, "completions") - 1;
    if text(spec, "completionMode") == "Indexed" && last >= 0 {
        let longest = format!("{name}-{last}");
        if longest.len() > 63 || !names::is_subdomain(&longest) || longest.contains('.') {
            let detail = format!("will not able to create pod with invalid DNS label: {longest}");
            names::wrong(errors, &Path::root("metadata").child("name"), name, &detail);
        }
    }
}

/// A job that finds its pods by itself carries its own uid and name in the template.
fn generated_labels(errors: &mut Errors, path: &Path<'_>, spec: &Value, metadata: &Value) {
    if flag(spec, "manualSelector") || !has(spec, "selector") {
        return;
    }
    let (uid, name) = (text(metadata, "uid"), text(metadata, "name"));
    let path = path.child("template");
    let at_labels = path.child("metadata");
    let labels = at(at(at(spec, "template"), "metadata"), "labels");
    for (label, expected) in [(OLD_UID, uid), (OLD_NAME, name), (UID, uid), (NAME, name)] {
        match at(labels, label).as_str() {
            None => {
                errors.required(&at_labels.child("labels").key(label), &format!("must be '{expected}'"));
            }
            Some(found) if found != expected => {
                let path = at_labels.child("labels");
                errors.invalid(&path.key(label), labels, &format!("must be '{expected}'"));
            }
            Some(_) => {}
        }
    }
    let generated = json!({OLD_UID: uid, OLD_NAME: name, UID: uid, NAME: name});
    let selector = at(spec, "selector");
    if !names::selects(selector, &generated) {
        errors.invalid(&Path::root("spec").child("selector"), selector, "`selector` not auto-generated");
    }
}

pub(super) fn template(errors: &mut Errors, path: &Path<'_>, template: &Value) {
    let (path, inner) = (path.child("spec"), at(template, "spec"));
    spec(errors, &path, inner);
    if has(inner, "selector") {
        errors.invalid(&path.child("selector"), at(inner, "selector"), "`selector` will be auto-generated");
    }
    if flag(inner, "manualSelector") {
        errors.not_supported(&path.child("manualSelector"), &true.into(), &["nil", "false"]);
    }
}

fn spec(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    const COUNTS: &[&str] = &[
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    workload::not_negative(errors, path, spec, COUNTS);
    if has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex") {
        errors.required(&path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    let mode = at(spec, "completionMode");
    names::one_of_if_set(errors, &path.child("completionMode"), mode, &["NonIndexed", "Indexed"]);
    if mode == "Indexed" {
        indexed(errors, path, spec);
    } else if mode.is_null() || mode == "NonIndexed" {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if has(spec, field) {
                errors.invalid(&path.child(field), at(spec, field), "requires indexed completion mode");
            }
        }
    }
    if has(spec, "podFailurePolicy") {
        failure_policy(errors, &path.child("podFailurePolicy"), spec);
    }
    if has(spec, "successPolicy") {
        success_policy(errors, &path.child("successPolicy"), spec);
    }
    let known: &[&str] =
        if has(spec, "podFailurePolicy") { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    names::one_of_if_set(
        errors,
        &path.child("podReplacementPolicy"),
        at(spec, "podReplacementPolicy"),
        known,
    );
    workload::template(errors, &path.child("template"), at(spec, "template"));
    restart_policy(errors, path, spec);
}

fn restart_policy(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let path = path.child("template");
    let path = path.child("spec");
    let path = path.child("restartPolicy");
    match text(at(at(spec, "template"), "spec"), "restartPolicy") {
        "" | "Always" => errors.required(&path, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if has(spec, "podFailurePolicy") => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            names::wrong(errors, &path, "OnFailure", detail);
        }
        "OnFailure" | "Never" => {}
        other => errors.not_supported(&path, &other.into(), &["OnFailure", "Never"]),
    }
}

fn indexed(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let (completions, failed) = (int(spec, "completions"), int(spec, "maxFailedIndexes"));
    if completions.is_none() {
        errors.required(&path.child("completions"), "when completion mode is Indexed");
    }
    if number(spec, "parallelism") > MANY {
        let detail = format!("must be less than or equal to {MANY} when completion mode is Indexed");
        errors.invalid(&path.child("parallelism"), at(spec, "parallelism"), &detail);
    }
    if let (Some(completions), Some(failed)) = (completions, failed)
        && failed > completions
    {
        errors.invalid(
            &path.child("maxFailedIndexes"),
            &failed.into(),
            "must be less than or equal to completions",
        );
    }
    if failed.is_some_and(|failed| failed > MANY) {
        let detail = format!("must be less than or equal to {MANY}");
        errors.invalid(&path.child("maxFailedIndexes"), at(spec, "maxFailedIndexes"), &detail);
    }
    if completions.is_some_and(|completions| completions > MANY) && has(spec, "backoffLimitPerIndex") {
        if failed.is_none() {
            let detail = format!("must be specified when completions is above {MANY}");
            errors.required(&path.child("maxFailedIndexes"), &detail);
        }
        for field in ["parallelism", "maxFailedIndexes"] {
            if number(spec, field) > 10_000 {
                let detail = format!(
                    "must be less than or equal to 10000 when completions are above {MANY} and used with backoff \
                     limit per index"
                );
                errors.invalid(&path.child(field), at(spec, field), &detail);
            }
        }
    }
}

fn failure_policy(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    const ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
    let rules = list(at(spec, "podFailurePolicy"), "rules");
    let path = path.child("rules");
    if rules.len() > 20 {
        errors.too_many(&path, rules.len(), 20);
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        match text(rule, "action") {
            "" => {
                let detail = "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]";
                errors.required(&path.child("action"), detail);
            }
            "FailIndex" if !has(spec, "backoffLimitPerIndex") => {
                let detail = "requires the backoffLimitPerIndex to be set";
                names::wrong(errors, &path.child("action"), "FailIndex", detail);
            }
            other => names::one_of(errors, &path.child("action"), other, ACTIONS),
        }
        let conditions = list(rule, "onPodConditions");
        if has(rule, "onExitCodes") {
            exit_codes(
                errors,
                &path.child("onExitCodes"),
                at(rule, "onExitCodes"),
                at(at(spec, "template"), "spec"),
            );
        }
        for (j, condition) in conditions.iter().enumerate() {
            let path = path.child("onPodConditions");
            let path = path.index(j);
            names::qualified(errors, &path.child("type"), text(condition, "type"));
            let status = text(condition, "status");
            names::one_of(errors, &path.child("status"), status, &["False", "True", "Unknown"]);
        }
        match (has(rule, "onExitCodes"), conditions.is_empty()) {
            (true, false) => {
                errors.invalid_unshown(
                    &path,
                    "specifying both OnExitCodes and OnPodConditions is not supported",
                );
            }
            (false, true) => {
                errors
                    .invalid_unshown(&path, "specifying one of OnExitCodes and OnPodConditions is required");
            }
            _ => {}
        }
    }
}

fn exit_codes(errors: &mut Errors, path: &Path<'_>, codes: &Value, pod: &Value) {
    names::one_of(errors, &path.child("operator"), text(codes, "operator"), &["In", "NotIn"]);
    if let Some(name) = at(codes, "containerName").as_str() {
        let mut known = list(pod, "containers").iter().chain(list(pod, "initContainers"));
        if !known.any(|container| text(container, "name") == name) {
            let detail = "must be one of the container or initContainer names in the pod template";
            names::wrong(errors, &path.child("containerName"), name, detail);
        }
    }
    let values: Vec<i64> = list(codes, "values").iter().filter_map(Value::as_i64).collect();
    let path = path.child("values");
    if values.is_empty() {
        errors.invalid(&path, at(codes, "values"), "at least one value is required");
    } else if values.len() > 255 {
        errors.too_many(&path, values.len(), 255);
    }
    for (i, value) in values.iter().enumerate() {
        if text(codes, "operator") == "In" && *value == 0 {
            errors.invalid(&path.index(i), &0.into(), "must not be 0 for the In operator");
        }
        if values.iter().take(i).any(|other| other == value) {
            errors.duplicate(&path.index(i), &(*value).into());
        }
    }
    if !values.is_sorted() {
        errors.invalid(&path, at(codes, "values"), "must be ordered");
    }
}

fn success_policy(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let policy = at(spec, "successPolicy");
    if text(spec, "completionMode") != "Indexed" {
        return errors.invalid(path, policy, "requires indexed completion mode");
    }
    let rules = list(policy, "rules");
    let path = path.child("rules");
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.required(&path, detail);
    }
    if rules.len() > 20 {
        errors.too_many(&path, rules.len(), 20);
    }
    let completions = number(spec, "completions");
    for (i, rule) in rules.iter().enumerate() {
        let path = path.index(i);
        if !has(rule, "succeededCount") && !has(rule, "succeededIndexes") {
            let detail = "at least one of succeededCount or succeededIndexes must be specified";
            errors.required(&path, detail);
        }
        if let Some(count) = int(rule, "succeededCount") {
            let path = path.child("succeededCount");
            names::not_negative(errors, &path, count);
            if count > completions {
                let detail = format!(
                    "must be less than or equal to {completions} (the number of specified completions)"
                );
                errors.invalid(&path, &count.into(), &detail);
            }
        }
    }
}

/// Only how many run at once, deadlines and limits change; while suspended, also where the pods may run.
pub(super) fn update(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::root("spec");
    if text(new, "completionMode") != "Indexed" {
        workload::immutable(errors, &path, new, old, &["completions"]);
    } else if int(new, "completions") != int(old, "completions")
        && int(new, "completions") != int(new, "parallelism")
    {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.invalid(&path.child("completions"), at(new, "completions"), detail);
    }
    workload::immutable(errors, &path, new, old, &["selector"]);
    if !same_template(new, old) {
        errors.invalid(&path.child("template"), at(new, "template"), "field is immutable");
    }
    const FIXED: &[&str] =
        &["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"];
    workload::immutable(errors, &path, new, old, FIXED);
}

fn same_template(new: &Value, old: &Value) -> bool {
    let (now, before) = (at(new, "template"), at(old, "template"));
    if !flag(old, "suspend") {
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
    workload::not_negative(errors, &path, now, &["active", "succeeded", "failed", "ready", "terminating"]);
    let holds = |of: &Value, kind: &str| {
        list(of, "conditions").iter().any(|one| text(one, "type") == kind && text(one, "status") == "True")
    };
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
    for counter in ["failed", "succeeded"] {
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
