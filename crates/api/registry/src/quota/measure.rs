//! How much of which resource an object of a kind uses, and which quotas it falls under. Pure but for the snapshot in
//! which device classes are looked up.

use jiff::Timestamp;
use kedge_kinds::quantity::{Format, Quantity};
use kedge_kinds::{Kind, Meta};
use kedge_store::Snapshot;
use serde_json::Value;

use super::amounts::{Amounts, amount};
use super::{devices, pod, resource};
use crate::object;
use crate::strategies::pod::quality;

/// What there is to measure about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Pods,
    Services,
    VolumeClaims,
    DeviceClaims,
    /// Only that it is there.
    Count,
}

const POD: [&str; 11] = [
    "count/pods",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "pods",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const SERVICE: [&str; 4] = ["count/services", "services", "services.loadbalancers", "services.nodeports"];
const CLAIM: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";

impl Measure {
    /// `None` for what no quota ever counts.
    pub(super) fn of(kind: &Kind) -> Option<Self> {
        if !kind.namespaced || !crate::catalog::is_stored(kind) {
            return None;
        }
        match (&*kind.gv.group, &*kind.plural) {
            ("" | "events.k8s.io", "events") => None,
            ("", "pods") => Some(Measure::Pods),
            ("", "services") => Some(Measure::Services),
            ("", "persistentvolumeclaims") => Some(Measure::VolumeClaims),
            ("resource.k8s.io", "resourceclaims") => Some(Measure::DeviceClaims),
            _ => Some(Measure::Count),
        }
    }

    /// The resource is one that objects of this kind use.
    pub(super) fn counts(self, kind: &Kind, name: &str, snapshot: &Snapshot) -> bool {
        match self {
            Measure::Pods => {
                POD.contains(&name)
                    || name.starts_with("hugepages-")
                    || name.starts_with("requests.hugepages-")
                    || resource::requested_device(name).is_some()
            }
            Measure::Services => SERVICE.contains(&name),
            Measure::VolumeClaims => {
                let by_class = name.split_once(STORAGE_CLASS).map(|(_, of)| of);
                name == "count/persistentvolumeclaims" || CLAIM.contains(&by_class.unwrap_or(name))
            }
            Measure::DeviceClaims => {
                name == resource::count(kind)
                    || name.ends_with(devices::PER_CLASS)
                    || resource::requested_device(name).is_some_and(|name| devices::is_known(snapshot, name))
            }
            Measure::Count => resource::alias(kind) == Some(name) || name == resource::count(kind),
        }
    }

    pub(super) fn usage(self, kind: &Kind, object: &Value, now: Timestamp, snapshot: &Snapshot) -> Amounts {
        let mut usage = match self {
            Measure::Pods => return pod::usage(object, now),
            Measure::Services => service(object),
            Measure::VolumeClaims => claim(object),
            Measure::DeviceClaims => devices::usage(object, now, snapshot),
            Measure::Count => Amounts::default(),
        };
        usage.count(resource::count(kind), 1);
        if let Some(alias) = resource::alias(kind) {
            usage.count(alias, 1);
        }
        usage
    }

    /// What it uses is not a matter of the object alone: only counting anew finds out what is left when it goes.
    pub(super) fn is_uncertain(self, object: &Value, now: Timestamp) -> bool {
        match self {
            Measure::Pods => pod::given_up_at(object).is_some_and(|then| now > then),
            Measure::DeviceClaims => devices::is_made_for_a_pod(object),
            _ => false,
        }
    }

    /// A change of an object of this kind may change what it uses.
    pub(super) fn can_change(self) -> bool {
        self != Measure::Count
    }

    /// Whether a quota may refuse this write; what is reported of a running object is counted and never refused.
    pub(super) fn may_refuse(self, part: Option<&str>, old: Option<&Value>, new: &Value) -> bool {
        let Some(old) = old else { return part.is_none() };
        match (self, part) {
            (Measure::Pods, None) => pod::has_deadline(old) != pod::has_deadline(new),
            (Measure::Pods, Some("resize")) => true,
            (Measure::Services | Measure::VolumeClaims | Measure::DeviceClaims, None) => true,
            _ => false,
        }
    }

    /// The object is in the scope that one requirement describes.
    pub(super) fn is_in_scope(self, object: &Value, requirement: &Requirement<'_>) -> bool {
        match (self, requirement.scope) {
            (Measure::Pods, "Terminating") => pod::has_deadline(object),
            (Measure::Pods, "NotTerminating") => !pod::has_deadline(object),
            (Measure::Pods, "BestEffort") => quality(object) == "BestEffort",
            (Measure::Pods, "NotBestEffort") => quality(object) != "BestEffort",
            (Measure::Pods, "PriorityClass") => {
                requirement.holds(&[object::text(object, &["spec", "priorityClassName"])])
            }
            (Measure::Pods, "CrossNamespacePodAffinity") => pod::looks_elsewhere(object),
            (Measure::VolumeClaims, "VolumeAttributesClass") => requirement.holds(&[
                object::text(object, &["spec", "volumeAttributesClassName"]),
                object::text(object, &["status", "currentVolumeAttributesClassName"]),
                object::text(object, &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"]),
            ]),
            _ => false,
        }
    }
}

/// One condition of a quota's scope.
#[derive(Debug)]
pub(super) struct Requirement<'q> {
    pub(super) scope: &'q str,
    pub(super) operator: &'q str,
    pub(super) values: Vec<&'q str>,
}

impl Requirement<'_> {
    /// For one of these names, empty ones aside; or for none, where there is none.
    fn holds(&self, names: &[&str]) -> bool {
        let mut names = names.iter().filter(|name| !name.is_empty()).peekable();
        if names.peek().is_none() {
            return matches!(self.operator, "NotIn" | "DoesNotExist");
        }
        names.any(|name| match self.operator {
            "Exists" => true,
            "In" => self.values.contains(name),
            "NotIn" => !self.values.contains(name),
            _ => false,
        })
    }
}

fn service(service: &Value) -> Amounts {
    let ports = pod::list(service, "spec", "ports");
    let chosen = |port: &&Value| port.get("nodePort").and_then(Value::as_i64).is_some_and(|port| port != 0);
    let automatic =
        object::at(service, &["spec", "allocateLoadBalancerNodePorts"]) != Some(&Value::Bool(false));
    let (balancers, ports) = match object::text(service, &["spec", "type"]) {
        "NodePort" => (0, ports.len()),
        "LoadBalancer" if automatic => (1, ports.len()),
        "LoadBalancer" => (1, ports.iter().filter(chosen).count()),
        _ => (0, 0),
    };
    let mut usage = Amounts::default();
    usage.count("services", 1);
    usage.count("services.loadbalancers", balancers);
    usage.count("services.nodeports", i64::try_from(ports).unwrap_or(i64::MAX));
    usage
}

fn claim(claim: &Value) -> Amounts {
    let mut usage = Amounts::default();
    let class = Meta::of(claim)
        .annotation("volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| object::text(claim, &["spec", "storageClassName"]));
    let mut charge = |name: &str, amount: Quantity| {
        usage.set(name, amount);
        if !class.is_empty() {
            usage.set(format!("{class}{STORAGE_CLASS}{name}"), amount);
        }
    };
    charge("persistentvolumeclaims", Quantity::of(1, Format::DecimalSi));
    if let Some(asked) = object::at(claim, &["spec", "resources", "requests", "storage"]).map(amount) {
        let given = object::at(claim, &["status", "allocatedResources", "storage"]).map(amount);
        let most = given.filter(|given| *given > asked).unwrap_or(asked);
        charge(
            "requests.storage",
            if most.is_whole() { most } else { Quantity::of(most.value(), most.format()) },
        );
    }
    usage
}
