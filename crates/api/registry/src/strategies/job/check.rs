//! Whether a Job makes sense by itself.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::{NAME, OLD_NAME, OLD_UID, UID, policies};
use crate::strategies::fields::{at, flag, has, int, number, text};
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
        policies::failure(errors, &path.child("podFailurePolicy"), spec);
    }
    if has(spec, "successPolicy") {
        policies::success(errors, &path.child("successPolicy"), spec);
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
