//! What the API would have filled in had the pod come by it: as far as this node goes by it.

use k8s_openapi::api::core::v1::{Container, PodSpec, Probe};
use kedge_images::Reference;
use serde_json::Value;

pub(super) fn fill(spec: &mut PodSpec) {
    spec.restart_policy.get_or_insert_with(|| "Always".to_owned());
    spec.dns_policy.get_or_insert_with(|| "ClusterFirst".to_owned());
    spec.termination_grace_period_seconds.get_or_insert(30);
    spec.security_context.get_or_insert_default();
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        fill_container(container);
    }
}

fn fill_container(container: &mut Container) {
    let image = container.image.as_deref().unwrap_or_default();
    let moves = Reference::parse(image)
        .is_ok_and(|image| image.digest.is_none() && image.tag.as_deref().is_none_or(|tag| tag == "latest"));
    let policy = if moves { "Always" } else { "IfNotPresent" };
    container.image_pull_policy.get_or_insert_with(|| policy.to_owned());
    container.termination_message_path.get_or_insert_with(|| "/dev/termination-log".to_owned());
    container.termination_message_policy.get_or_insert_with(|| "File".to_owned());
    for port in container.ports.iter_mut().flatten() {
        port.protocol.get_or_insert_with(|| "TCP".to_owned());
    }
    let probes =
        [&mut container.liveness_probe, &mut container.readiness_probe, &mut container.startup_probe];
    probes.into_iter().flatten().for_each(fill_probe);
    // A limit without a request asks for as much.
    if let Some(resources) = &mut container.resources
        && let Some(limits) = &resources.limits
    {
        let requests = resources.requests.get_or_insert_default();
        for (name, amount) in limits {
            requests.entry(name.clone()).or_insert_with(|| amount.clone());
        }
    }
}

fn fill_probe(probe: &mut Probe) {
    probe.timeout_seconds.get_or_insert(1);
    probe.period_seconds.get_or_insert(10);
    probe.success_threshold.get_or_insert(1);
    probe.failure_threshold.get_or_insert(3);
    if let Some(http) = &mut probe.http_get {
        http.path.get_or_insert_with(|| "/".to_owned());
        http.scheme.get_or_insert_with(|| "HTTP".to_owned());
    }
}

/// `cpu: 1` is an amount, though it is written as a number.
pub(super) fn numbers_are_amounts(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                if matches!(&**key, "limits" | "requests" | "overhead") {
                    for amount in inner.as_object_mut().into_iter().flat_map(|amounts| amounts.values_mut()) {
                        if amount.is_number() {
                            *amount = Value::String(amount.to_string());
                        }
                    }
                }
                numbers_are_amounts(inner);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(numbers_are_amounts),
        _ => {}
    }
}
