//! Three namespaces with three pods each, and who of them reaches whom. What is compiled is judged by reading it as the kernel does.

use kedge_facts::Protocol;
use serde_json::{Value, json};

use super::*;
use crate::spans::family;
use crate::wanted::{Element, Ports};

mod memory;
mod situations;
mod tables;

const NAMESPACES: [&str; 3] = ["x", "y", "z"];
const PODS: [&str; 3] = ["a", "b", "c"];
const NODE: &str = "n";

/// Somebody in the cluster, by namespace and name.
#[derive(Clone, Copy, Debug, PartialEq)]
struct At {
    ns: &'static str,
    pod: &'static str,
}

/// One attempt to talk.
#[derive(Clone, Copy, Debug)]
struct Probe {
    from: At,
    to: At,
    protocol: Protocol,
    port: u16,
}

struct Cluster {
    policies: Vec<Value>,
    pods: Vec<Value>,
    namespaces: Vec<Value>,
    places: Places,
}

impl Cluster {
    /// Everybody is on one node and has `web` as a name of port 80 (a), 81 (b) or none (c).
    fn new() -> Self {
        let pods = everybody().map(|at| {
            let web = match at.pod {
                "a" => json!([{"name": "web", "containerPort": 80}]),
                "b" => json!([{"name": "web", "containerPort": 81}, {"name": "web", "containerPort": 80, "protocol": "UDP"}]),
                _ => json!([]),
            };
            json!({
                "metadata": {"namespace": at.ns, "name": at.pod, "uid": at.pod, "labels": {"pod": at.pod}},
                "spec": {"nodeName": NODE, "containers": [{"name": "c", "ports": web}]},
                "status": {"phase": "Running", "podIPs": [{"ip": address(at, Family::V4)}, {"ip": address(at, Family::V6)}]},
            })
        });
        let namespaces = NAMESPACES.map(
            |ns| json!({"metadata": {"name": ns, "labels": {"ns": ns, "kubernetes.io/metadata.name": ns}}}),
        );
        Self {
            policies: vec![],
            pods: pods.collect(),
            namespaces: namespaces.into(),
            places: Places::default(),
        }
    }

    fn with(policies: impl IntoIterator<Item = Value>) -> Self {
        Self { policies: policies.into_iter().collect(), ..Self::new() }
    }

    fn pod(&mut self, ns: &str, name: &str) -> &mut Value {
        let is = |pod: &&mut Value| pod["metadata"]["namespace"] == ns && pod["metadata"]["name"] == name;
        self.pods.iter_mut().find(is).unwrap()
    }

    fn compiled(&self) -> Wanted {
        compile(&read(&self.policies), &read(&self.pods), &read(&self.namespaces), &self.places, NODE)
    }
}

fn read<T: serde::de::DeserializeOwned>(objects: &[Value]) -> Vec<Arc<T>> {
    objects.iter().map(|object| Arc::new(serde_json::from_value(object.clone()).unwrap())).collect()
}

fn everybody() -> impl Iterator<Item = At> {
    NAMESPACES.into_iter().flat_map(|ns| PODS.into_iter().map(move |pod| At { ns, pod }))
}

fn address(at: At, family: Family) -> IpAddr {
    let place = |all: [&str; 3], one| all.iter().position(|each| *each == one).unwrap();
    let (ns, pod) = (place(NAMESPACES, at.ns) + 1, place(PODS, at.pod) + 1);
    match family {
        Family::V4 => format!("10.0.{ns}.{pod}").parse().unwrap(),
        Family::V6 => format!("fd00::{ns}:{pod}").parse().unwrap(),
    }
}

/// A policy of a namespace.
fn policy(ns: &str, spec: Value) -> Value {
    json!({"metadata": {"namespace": ns, "name": "p"}, "spec": spec})
}

fn pod(name: &str) -> Value {
    json!({"matchLabels": {"pod": name}})
}

fn ns(name: &str) -> Value {
    json!({"matchLabels": {"ns": name}})
}

/// As the kernel would judge the first packet of a connection.
fn passes(wanted: &Wanted, from: IpAddr, to: IpAddr, protocol: Protocol, port: u16) -> bool {
    let allows = |direction, who, peer| {
        wanted.isolated.get(&(direction, who)).is_none_or(|name| {
            let chain = &wanted.chains[name];
            assert_eq!((chain.direction, chain.family), (direction, family(who)));
            chain.lines.iter().any(|line| lets(wanted, line, peer, protocol, port))
        })
    };
    from == to || (allows(Direction::Out, from, to) && allows(Direction::In, to, from))
}

fn lets(wanted: &Wanted, line: &Line, peer: IpAddr, protocol: Protocol, port: u16) -> bool {
    let by = |ports: &Ports| ports.protocol == protocol && (ports.first..=ports.last).contains(&port);
    let holds = |name: &Name| {
        wanted.sets[name].elements.iter().any(|element| match element {
            Element::Address(address) => *address == peer,
            Element::Pair(address, number) => (*address, *number) == (peer, port),
            Element::Span(span) => span.contains(peer),
            Element::Ports(ports) => by(ports),
        })
    };
    match line {
        Line::Pair { set, protocol: only } => *only == protocol && holds(set),
        Line::Peers { who, doors } => {
            let by_door = match doors {
                Doors::All => true,
                Doors::Span(ports) => by(ports),
                Doors::Set(set) => holds(set),
            };
            let by_peer = match who {
                Peers::Anybody => true,
                Peers::Addresses(set) | Peers::Spans(set) => holds(set),
            };
            by_door && by_peer
        }
    }
}

/// Everybody tries everybody in both families, by two ports of two protocols; `allowed` says what must come of it. Nobody is kept
/// from himself.
fn check(case: &str, cluster: &Cluster, allowed: impl Fn(Probe) -> bool) {
    let wanted = cluster.compiled();
    for family in [Family::V4, Family::V6] {
        for from in everybody() {
            for to in everybody() {
                for protocol in [Protocol::Tcp, Protocol::Udp] {
                    for port in [80, 81] {
                        let probe = Probe { from, to, protocol, port };
                        let found =
                            passes(&wanted, address(from, family), address(to, family), protocol, port);
                        assert_eq!(found, from == to || allowed(probe), "{case}: {family:?} {probe:?}");
                    }
                }
            }
        }
    }
}
