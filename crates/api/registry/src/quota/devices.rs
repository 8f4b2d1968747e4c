//! What a ResourceClaim asks for, by device class and by the name that containers may use for it.

use jiff::Timestamp;
use kedge_kinds::Meta;
use kedge_store::Snapshot;
use serde_json::Value;

use super::amounts::Amounts;
use super::{pod, resource};
use crate::object;
use crate::registry::parse;

pub(super) const PER_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// Where all devices of a class are asked for, the most that one claim can get.
const MOST: i64 = 32;
const CLASSES: &str = "/registry/deviceclasses/";
/// Set by the scheduler on a claim that it makes for what a pod's containers ask for by name.
const FOR_A_POD: &str = "resource.kubernetes.io/extended-resource-claim";

/// A container's name for devices of some class, or for the class itself.
pub(super) fn is_known(snapshot: &Snapshot, name: &str) -> bool {
    match name.strip_prefix(resource::DEVICE_CLASS) {
        Some(class) => !other_name(snapshot, class).is_empty(),
        None => snapshot.range(CLASSES, None).any(|(_, entry)| {
            parse(entry).is_ok_and(|class| object::text(&class, &["spec", "extendedResourceName"]) == name)
        }),
    }
}

fn other_name(snapshot: &Snapshot, class: &str) -> String {
    let class = snapshot.get(&format!("{CLASSES}{class}")).and_then(|entry| parse(entry).ok());
    class.map(|class| object::text(&class, &["spec", "extendedResourceName"]).to_owned()).unwrap_or_default()
}

pub(super) fn usage(claim: &Value, now: Timestamp, snapshot: &Snapshot) -> Amounts {
    let mut by_class = Amounts::default();
    for request in
        object::at(claim, &["spec", "devices", "requests"]).and_then(Value::as_array).into_iter().flatten()
    {
        let mut worst = Amounts::default();
        match request.get("firstAvailable").and_then(Value::as_array).filter(|choices| !choices.is_empty()) {
            Some(choices) => choices.iter().for_each(|choice| worst.raise_to(&devices(choice))),
            None => worst.raise_to(&request.get("exactly").map(devices).unwrap_or_default()),
        }
        by_class.add(&worst);
    }
    let mut by_name = Amounts::default();
    for (class, number) in by_class.iter() {
        by_name.set(format!("requests.{}{class}", resource::DEVICE_CLASS), *number);
        match other_name(snapshot, class) {
            name if name.is_empty() => {}
            name => by_name.set(format!("requests.{name}"), *number),
        }
    }
    // What the pod is charged for already isn't charged twice.
    by_name.take_off(&of_its_pod(claim, now, snapshot));
    by_name.retain(|_, number| !number.is_zero());
    let mut usage = Amounts::default();
    by_class.iter().for_each(|(class, number)| usage.set(format!("{class}{PER_CLASS}"), *number));
    usage.add(&by_name);
    usage
}

/// How many of which class one request is for.
fn devices(request: &Value) -> Amounts {
    let number = match object::text(request, &["allocationMode"]) {
        "ExactCount" => request.get("count").and_then(Value::as_i64).unwrap_or(0),
        "All" => MOST,
        _ => 0,
    };
    let mut devices = Amounts::default();
    devices.count(object::text(request, &["deviceClassName"]), number);
    devices
}

pub(super) fn is_made_for_a_pod(claim: &Value) -> bool {
    Meta::of(claim).annotation(FOR_A_POD) == Some("true")
}

/// The usage of the pod that the claim was made for, if it truly was: anyone can write the annotation.
fn of_its_pod(claim: &Value, now: Timestamp, snapshot: &Snapshot) -> Amounts {
    let meta = Meta::of(claim);
    let owner = meta.controller().filter(|owner| owner.kind() == "Pod" && owner.api_version() == "v1");
    let Some(owner) = owner.filter(|_| is_made_for_a_pod(claim)) else { return Amounts::default() };
    let key = format!("/registry/pods/{}/{}", meta.namespace(), owner.name());
    let Some(found) = snapshot.get(&key).and_then(|entry| parse(entry).ok()) else {
        return Amounts::default();
    };
    let named = object::text(&found, &["status", "extendedResourceClaimStatus", "resourceClaimName"]);
    if Meta::of(&found).uid() != owner.uid() || (!named.is_empty() && named != meta.name()) {
        return Amounts::default();
    }
    pod::usage(&found, now)
}
