//! Whether a pod that was bound to this node has room beside those that are here. Pure. Who binds pods by hand asks nobody
//! else.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::api::core::v1::Pod;
use kedge_kinds::Quantity;

use crate::memory::Verdict;
use crate::plan::{containers, is_sidecar};
use crate::spec::resources::requests;

/// What a pod takes from the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weight {
    requests: BTreeMap<String, Quantity>,
    doors: Vec<Door>,
}

/// A port of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Door {
    protocol: String,
    /// None for all of the node's addresses.
    address: Option<String>,
    port: i32,
}

impl Weight {
    pub(crate) fn of(pod: &Pod) -> Self {
        let Some(spec) = &pod.spec else { return Self::default() };
        let is_init = |name: &str| spec.init_containers.iter().flatten().any(|init| init.name == name);
        let staying = containers(spec).filter(|container| !is_init(&container.name) || is_sidecar(container));
        let ports = staying.flat_map(|container| container.ports.iter().flatten());
        let doors = ports.filter_map(|port| {
            let address = port.host_ip.clone().filter(|ip| !matches!(&**ip, "" | "0.0.0.0" | "::"));
            let protocol = port.protocol.clone().unwrap_or_else(|| "TCP".to_owned());
            Some(Door { protocol, address, port: port.host_port.filter(|port| *port > 0)? })
        });
        Self { requests: requests(pod), doors: doors.collect() }
    }

    /// What is asked for of a resource, as Kubernetes counts it: CPU in thousandths, the rest in ones.
    pub(crate) fn wants(&self, resource: &str) -> i64 {
        match resource {
            "pods" => 1,
            _ => self.requests.get(resource).map_or(0, |amount| counted(resource, amount)),
        }
    }
}

impl Door {
    fn is_same(&self, other: &Self) -> bool {
        let meets = match (&self.address, &other.address) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        meets && self.port == other.port && self.protocol == other.protocol
    }
}

pub(crate) fn counted(resource: &str, amount: &Quantity) -> i64 {
    if resource == "cpu" { amount.milli_value() } else { amount.value() }
}

/// A resource of which there is not enough, in the order in which Kubernetes looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    pub(crate) resource: String,
    pub(crate) wanted: i64,
    pub(crate) used: i64,
    pub(crate) capacity: i64,
}

pub(crate) fn short(
    wanted: &Weight,
    others: &[&Weight],
    allocatable: &HashMap<String, Quantity>,
) -> Option<Short> {
    let known = ["pods", "cpu", "memory", "ephemeral-storage"].into_iter();
    let more = wanted.requests.keys().map(|name| &**name);
    let more = more.filter(|name| !matches!(*name, "pods" | "cpu" | "memory" | "ephemeral-storage"));
    for resource in known.chain(more) {
        // What the node does not know is somebody else's to give.
        let Some(there) = allocatable.get(resource) else { continue };
        let amount = wanted.wants(resource);
        let used = others.iter().map(|other| other.wants(resource)).sum::<i64>();
        let capacity = counted(resource, there);
        if amount > 0 && used.saturating_add(amount) > capacity {
            return Some(Short { resource: resource.to_owned(), wanted: amount, used, capacity });
        }
    }
    None
}

/// Why the pod cannot be here; nothing if it can.
pub(crate) fn refuse(
    wanted: &Weight,
    others: &[&Weight],
    allocatable: &HashMap<String, Quantity>,
) -> Option<Verdict> {
    if let Some(Short { resource, wanted, used, capacity }) = short(wanted, others, allocatable) {
        let message = format!(
            "Node didn't have enough resource: {resource}, requested: {wanted}, used: {used}, capacity: {capacity}"
        );
        return Some(Verdict::new(format!("OutOf{resource}"), message));
    }
    let taken = |door: &Door| others.iter().any(|other| other.doors.iter().any(|one| one.is_same(door)));
    wanted.doors.iter().any(taken).then(|| {
        let words = "node(s) didn't have free ports for the requested pod ports";
        Verdict::new("NodePorts", format!("Predicate NodePorts failed: {words}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn weight(spec: Value) -> Weight {
        Weight::of(&serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap())
    }

    fn asks(cpu: &str, memory: &str) -> Weight {
        let requests = json!({"cpu": cpu, "memory": memory});
        weight(json!({"containers": [{"name": "a", "resources": {"requests": requests}}]}))
    }

    fn opens(ip: &str, port: i32, protocol: &str) -> Weight {
        let port = json!({"containerPort": 1, "hostPort": port, "hostIP": ip, "protocol": protocol});
        weight(json!({"containers": [{"name": "a", "ports": [port]}]}))
    }

    #[test]
    fn a_pod_without_room_is_refused() {
        let node: HashMap<String, Quantity> = [("cpu", "2"), ("memory", "1Gi"), ("pods", "3")]
            .map(|(name, amount)| (name.to_owned(), amount.parse().unwrap()))
            .into();
        let half = asks("1", "512Mi");
        let some = weight(json!({"containers": [{"name": "a"}]}));
        let other =
            weight(json!({"containers": [{"name": "a", "resources": {"requests": {"example.com/x": "9"}}}]}));
        for (case, wanted, others, reason) in [
            ("fits", half.clone(), vec![&half], ""),
            ("too many cores", asks("1500m", "1Mi"), vec![&half], "OutOfcpu"),
            ("too much memory", asks("1m", "600Mi"), vec![&half], "OutOfmemory"),
            ("too many pods", some.clone(), vec![&some, &some, &some], "OutOfpods"),
            ("what nobody here knows", other, vec![], ""),
            ("a door of its own", opens("", 80, "TCP"), vec![&opens("", 81, "TCP")], ""),
            ("another protocol", opens("", 80, "TCP"), vec![&opens("", 80, "UDP")], ""),
            ("another address", opens("127.0.0.1", 80, "TCP"), vec![&opens("127.0.0.2", 80, "TCP")], ""),
            ("the same door", opens("127.0.0.1", 80, "TCP"), vec![&opens("0.0.0.0", 80, "TCP")], "NodePorts"),
        ] {
            let found = refuse(&wanted, &others, &node).map(|verdict| verdict.reason);
            assert_eq!(found.unwrap_or_default(), reason, "{case}");
        }
        let told = refuse(&asks("1500m", "0"), &[&half], &node).unwrap().message;
        let words = "Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000";
        assert_eq!(told, words);
    }
}
