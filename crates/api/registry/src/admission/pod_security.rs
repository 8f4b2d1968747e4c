//! Holds pods to the standard that their namespace's labels name, and tells those who write what pods are made from.
//! What a standard consists of is `checks`', what labels mean is `policy`'s.

mod checks;
mod policy;

use std::collections::{BTreeMap, BTreeSet};

use kedge_kinds::{Meta, Status};
use serde_json::Value;

use self::checks::{Pod, details, reasons, violations};
use self::policy::{Level, Policy, Standard};
use super::{Operation, Plugin, View};
use crate::parsed::parsed;
use crate::registry::parse;
use crate::{key, object};

/// Of the pods that are there when a namespace becomes stricter, this many are looked at.
const MOST_PODS: usize = 3000;
const AUDIT: &str = "pod-security.kubernetes.io/";

/// Subresources through which a pod's spec cannot be changed.
const HARMLESS: [&str; 8] =
    ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

/// Where kinds keep what pods are made from.
const TEMPLATES: [(&str, &str, &[&str]); 8] = [
    ("", "PodTemplate", &["template"]),
    ("", "ReplicationController", &["spec", "template"]),
    ("apps", "DaemonSet", &["spec", "template"]),
    ("apps", "Deployment", &["spec", "template"]),
    ("apps", "ReplicaSet", &["spec", "template"]),
    ("apps", "StatefulSet", &["spec", "template"]),
    ("batch", "CronJob", &["spec", "jobTemplate", "spec", "template"]),
    ("batch", "Job", &["spec", "template"]),
];

pub(super) struct PodSecurity;

impl Plugin for PodSecurity {
    fn concerns(&self, view: &View<'_>) -> bool {
        matches!(view.operation, Operation::Create | Operation::Update)
            && (is_pod(view) || view.is("", "Namespace") || template(view).is_some())
    }

    fn validate(&self, view: &View<'_>, object: &Value, old: Option<&Value>) -> Result<(), Status> {
        if view.is("", "Namespace") {
            return namespace(view, object, old);
        }
        let name = view.at.namespace.as_deref().unwrap_or_default();
        let Some(namespace) = view.snapshot.get(&key::namespace(name)) else {
            return Err(Status::internal(format!("failed to lookup namespace {name:?}")));
        };
        let (policy, errors) = Policy::of(&*parsed(namespace)?);
        let is_valid = errors.is_empty();
        if !is_valid {
            let said: Vec<String> = errors
                .into_causes()
                .into_iter()
                .map(|one| format!("{}: {}", one.field, one.message))
                .collect();
            note(view, "error", format!("Failed to parse policy: {}", said.join(", ")));
        }
        if is_pod(view) {
            if is_valid && policy.asks_nothing() {
                note(view, "enforce-policy", "privileged:latest".to_owned());
                return Ok(());
            }
            if old.is_some_and(|old| !concerns_us(object, old)) {
                return Ok(());
            }
            return evaluate(view, &policy, &Pod::of(object), Some(object));
        }
        match template(view).and_then(|path| object::at(object, path)) {
            Some(template) if !template.is_null() => evaluate(view, &policy, &Pod::of(template), None),
            _ => Ok(()),
        }
    }
}

impl<'v> Pod<'v> {
    fn of(object: &'v Value) -> Self {
        let annotations = object::meta(object, "annotations").and_then(Value::as_object);
        Self { annotations, spec: object.get("spec").unwrap_or(&Value::Null) }
    }
}

fn is_pod(view: &View<'_>) -> bool {
    let part = view.at.subresource.as_deref();
    &*view.at.kind.kind == "Pod"
        && view.at.kind.gv.group.is_empty()
        && part.is_none_or(|part| !HARMLESS.contains(&part))
}

fn template(view: &View<'_>) -> Option<&'static [&'static str]> {
    TEMPLATES.iter().find(|(group, kind, _)| view.is(group, kind)).map(|(_, _, path)| *path)
}

/// Tells all three modes. Only a pod itself can be refused.
fn evaluate(
    view: &View<'_>,
    policy: &Policy,
    pod: &Pod<'_>,
    refusable: Option<&Value>,
) -> Result<(), Status> {
    let found = |standard: Standard| {
        let found = violations(standard, pod);
        (!found.is_empty()).then(|| details(&found))
    };
    let would = |standard, found| format!("would violate PodSecurity \"{standard}\": {found}");
    if let Some(found) = found(policy.audit) {
        note(view, "audit-violations", would(policy.audit, found));
    }
    if let Some(object) = refusable {
        note(view, "enforce-policy", policy.enforce.to_string());
        if let Some(found) = found(policy.enforce) {
            let why = format!("violates PodSecurity \"{}\": {found}", policy.enforce);
            return Err(super::forbidden(&view.at.kind, object, &why));
        }
    }
    if let Some(found) = found(policy.warn) {
        view.options.remarks.warn(would(policy.warn, found));
    }
    Ok(())
}

fn note(view: &View<'_>, key: &str, value: String) {
    view.options.remarks.annotate(format!("{AUDIT}{key}"), value);
}

/// Of what can change in a pod, images are what a check could care about, and containers that come later.
fn concerns_us(new: &Value, old: &Value) -> bool {
    let of = |object, field: &str| -> Vec<(String, String)> {
        let containers = object::at(object, &["spec", field]).and_then(Value::as_array);
        let text = |one, field: &str| object::text(one, &[field]).to_owned();
        containers.into_iter().flatten().map(|one| (text(one, "name"), text(one, "image"))).collect()
    };
    let images = |object, field| of(object, field).into_iter().map(|(_, image)| image).collect::<Vec<_>>();
    let later = of(old, "ephemeralContainers");
    images(new, "containers") != images(old, "containers")
        || images(new, "initContainers") != images(old, "initContainers")
        || of(new, "ephemeralContainers").iter().any(|one| !later.contains(one))
}

/// Refuses labels that mean nothing, and says which pods a stricter label would have refused.
fn namespace(view: &View<'_>, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let (policy, errors) = Policy::of(new);
    let (before, known) = old.map(Policy::of).map(|(policy, errors)| (policy, errors.into_causes())).unzip();
    let (name, causes) = (object::meta_text(new, "name"), errors.into_causes());
    // Labels that were wrong before they were checked must not keep a namespace from being changed.
    if !causes.is_empty() && known.as_ref() != Some(&causes) {
        return Err(Status::invalid(&view.at.kind, name, causes));
    }
    let (Some(before), enforce) = (before, policy.enforce) else { return Ok(()) };
    let is_relaxed = enforce.version == before.enforce.version && enforce.level <= before.enforce.level;
    if enforce.level == Level::Privileged || enforce == before.enforce || is_relaxed {
        return Ok(());
    }
    for warning in existing(view, name, enforce)? {
        view.options.remarks.warn(warning);
    }
    Ok(())
}

/// Pods of one controller look alike: each controller's first comes before any other's second.
fn existing(view: &View<'_>, namespace: &str, enforce: Standard) -> Result<Vec<String>, Status> {
    let prefix = format!("/registry/pods/{namespace}/");
    let pods = view.snapshot.range(&prefix, None).map(|(_, entry)| parse(entry));
    let pods: Vec<Value> = pods.collect::<Result<_, _>>()?;
    let mut seen = BTreeSet::new();
    let (first, more): (Vec<&Value>, Vec<&Value>) = pods
        .iter()
        .partition(|pod| Meta::of(pod).controller().is_none_or(|owner| seen.insert(owner.uid().to_owned())));
    let mut alike: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for pod in first.into_iter().chain(more).take(MOST_PODS) {
        let found = violations(enforce, &Pod::of(pod));
        if !found.is_empty() {
            let name = object::meta_text(pod, "name");
            let (least, count) = alike.entry(reasons(&found)).or_insert((name, 0));
            (*least, *count) = (name.min(least), *count + 1);
        }
    }
    let mut warnings = Vec::new();
    if pods.len() > MOST_PODS {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {MOST_PODS} of {} existing pods",
            pods.len()
        ));
    }
    if !alike.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{enforce}\""
        ));
    }
    let mut each: Vec<String> = alike
        .into_iter()
        .map(|(reasons, (name, count))| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            count => format!("{name} (and {} other pods): {reasons}", count - 1),
        })
        .collect();
    each.sort();
    warnings.extend(each);
    Ok(warnings)
}

#[cfg(test)]
mod tests;
