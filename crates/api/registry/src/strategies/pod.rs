//! Pods. Everything that a pod shares with the templates of workloads lies in the files below this one.

pub(super) mod budget;
pub(super) mod check;
mod containers;
pub(super) mod defaults;
mod env;
mod mounts;
mod probes;
mod quality;
mod resources;
pub(super) mod scheduling;
mod security;
pub(super) mod template;
#[cfg(test)]
mod tests;
mod update;
pub(super) mod volumes;
pub(super) mod warnings;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::fields::{at, int, list, number, open, put, text};
use crate::strategy::{Selectable, Strategy};

pub(super) struct Pods;

/// The pod's quality of service, as it follows from what it asks for.
pub(crate) fn quality(pod: &Value) -> &'static str {
    quality::class(at(pod, "spec"))
}

impl Strategy for Pods {
    fn default(&self, pod: &mut Value) {
        defaults::pod(pod);
        addresses(pod);
    }

    fn prepare_create(&self, pod: &mut Value) {
        let class = quality(pod);
        put(pod, "status", json!({"phase": "Pending", "qosClass": class}));
        if !list(at(pod, "spec"), "schedulingGates").is_empty()
            && let Some(status) = open(pod, "status")
        {
            put(status, "conditions", gated());
        }
    }

    fn prepare_status(&self, new: &mut Value, old: &Value) {
        let class = text(at(old, "status"), "qosClass");
        if let Some(status) = open(new, "status")
            && !class.is_empty()
        {
            put(status, "qosClass", class);
        }
    }

    fn validate(&self, pod: &Value, errors: &mut Errors) {
        whole(pod, errors);
        let (path, spec) = (Path::root("spec"), at(pod, "spec"));
        // They are added to a pod that runs, which counts as a change of it: a pod of the first generation is new.
        if !list(spec, "ephemeralContainers").is_empty() && number(at(pod, "metadata"), "generation") < 2 {
            errors.forbidden(&path.child("ephemeralContainers"), "cannot be set on create");
        }
        if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
            errors.forbidden(
                &path.child("nodeName"),
                "cannot be set until all schedulingGates have been cleared",
            );
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        update::check(errors, new, old);
    }

    fn validate_status(&self, new: &Value, old: &Value, errors: &mut Errors) {
        update::status(errors, new, old);
    }

    fn warnings(&self, pod: &Value) -> Vec<String> {
        let mut found = Vec::new();
        warnings::of_spec(&Path::root("spec"), at(pod, "spec"), &mut found);
        found
    }

    // Pods are changed by machines, and often.
    fn warns_again(&self, _new: &Value, _old: &Value) -> bool {
        false
    }

    fn selectable(&self) -> &'static [Selectable] {
        const fn field(field: &'static str, pointer: &'static str) -> Selectable {
            Selectable { field, pointer, absent: "" }
        }
        const FIELDS: &[Selectable] = &[
            field("spec.nodeName", "/spec/nodeName"),
            field("spec.restartPolicy", "/spec/restartPolicy"),
            field("spec.schedulerName", "/spec/schedulerName"),
            field("spec.serviceAccountName", "/spec/serviceAccountName"),
            Selectable { field: "spec.hostNetwork", pointer: "/spec/hostNetwork", absent: "false" },
            field("status.phase", "/status/phase"),
            field("status.podIP", "/status/podIP"),
            field("status.podIPs", "/status/podIPs/0/ip"),
            field("status.nominatedNodeName", "/status/nominatedNodeName"),
        ];
        FIELDS
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn grace_seconds(&self, pod: &Value, asked: Option<i64>) -> i64 {
        let spec = at(pod, "spec");
        let period = asked.or_else(|| int(spec, "terminationGracePeriodSeconds")).unwrap_or(30);
        // A node is the one that winds a pod down; without one, or when it is over, there is nobody to wait for.
        if text(spec, "nodeName").is_empty()
            || matches!(text(at(pod, "status"), "phase"), "Succeeded" | "Failed")
        {
            return 0;
        }
        // A negative period comes from old objects and means "as short as can be".
        if period < 0 { 1 } else { period }
    }
}

/// What holds for a pod at any time.
fn whole(pod: &Value, errors: &mut Errors) {
    let (path, spec) = (Path::root("spec"), at(pod, "spec"));
    check::spec(errors, &path, spec, text(at(pod, "metadata"), "name"), true);
    if text(spec, "serviceAccountName").is_empty() {
        for (i, volume) in list(spec, "volumes").iter().enumerate() {
            for (j, source) in list(at(volume, "projected"), "sources").iter().enumerate() {
                if source.get("serviceAccountToken").is_some() {
                    let path = path.child("volumes");
                    let path = path.index(i);
                    let path = path.child("projected");
                    errors.forbidden(
                        &path.child("sources").index(j).child("serviceAccountToken"),
                        "must not be specified when serviceAccountName is not set",
                    );
                }
            }
        }
    }
    for field in ["containers", "initContainers"] {
        for (i, container) in list(spec, field).iter().enumerate() {
            containers::image_without_space(errors, &path.child(field).index(i), container);
        }
    }
}

/// `podIP` is the first of `podIPs`; each is filled from the other.
fn addresses(pod: &mut Value) {
    let Some(status) = pod.get_mut("status") else { return };
    if list(status, "podIPs").is_empty() && !text(status, "podIP").is_empty() {
        let one = json!([{"ip": text(status, "podIP")}]);
        put(status, "podIPs", one);
    } else if let Some(first) = list(status, "podIPs").first() {
        let first = text(first, "ip").to_owned();
        put(status, "podIP", first);
    }
}

fn gated() -> Value {
    json!([{
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }])
}
