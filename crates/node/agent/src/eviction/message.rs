//! What is said of a pod that has to go, in the words that people search for.

use k8s_openapi::api::core::v1::Pod;
use kedge_kinds::Quantity;
use kedge_kinds::quantity::Format;

use super::Observations;
use super::threshold::{Signal, Threshold};
use crate::plan::containers;
use crate::usage::PodUse;

pub(super) fn low(threshold: &Threshold, seen: &Observations, pod: &Pod, used: Option<&PodUse>) -> String {
    let resource = threshold.signal.resource();
    let mut message = format!("The node was low on resource: {resource}. ");
    if let Some(observed) = seen.get(&threshold.signal) {
        let written = |amount: i64| Quantity::of(amount, threshold.signal.format());
        message.push_str(&format!(
            "Threshold quantity: {}, available: {}. ",
            written(threshold.amount(observed)),
            written(observed.available)
        ));
    }
    let (Some(spec), Some(used)) = (&pod.spec, used) else { return message };
    let own = spec.resources.as_ref().and_then(|own| own.requests.as_ref()?.get(resource));
    if let (Signal::Memory, Some(request), Some(used)) = (threshold.signal, own, used.working_set()) {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        message.push_str(&format!(
            "Pod {name} was using {}, request is {}, has larger consumption of {resource}. ",
            bytes(used),
            request.0
        ));
    }
    for container in &used.containers {
        let listed = containers(spec).find(|listed| listed.name == container.name);
        let Some(listed) = listed else { continue };
        let now = match threshold.signal {
            Signal::Memory => container.working_set(),
            Signal::NodeDisk | Signal::ImageDisk => {
                container.root.zip(container.logs).map(|(root, logs)| root.bytes + logs.bytes)
            }
            Signal::NodeInodes | Signal::ImageInodes | Signal::Processes => None,
        };
        let asked = listed.resources.as_ref().and_then(|wanted| wanted.requests.as_ref()?.get(resource));
        let asked: Quantity = asked.and_then(|asked| asked.0.parse().ok()).unwrap_or(Quantity::ZERO);
        if let Some(now) = now.filter(|now| bytes(*now) > asked) {
            message.push_str(&format!(
                "Container {} was using {}, request is {asked}, has larger consumption of {resource}. ",
                container.name,
                bytes(now)
            ));
        }
    }
    message
}

fn bytes(amount: u64) -> Quantity {
    Quantity::of(i64::try_from(amount).unwrap_or(i64::MAX), Format::BinarySi)
}
