//! A node with four pods in two namespaces, and the world beyond: 192.0.2.1 is the node's, 192.0.2.9 the world's.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use kedge_netlink::Socket;
use kedge_netlink::nft::{Batch, Column, Family, Hook, Register, Rule, Work};
use kedge_policy::{Places, Rules, Wanted, compile};
use serde_json::{Value, json};

use crate::place::{PATIENCE, Place, REFUSED, ip};

pub(crate) const TABLE: &str = "kedge-test-policy";
pub(crate) const NODE: &str = "node";
pub(crate) const WORLD: &str = "world";

/// Somebody, with a namespace if it is a pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Who {
    pub(crate) ns: &'static str,
    pub(crate) name: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Tcp,
    Udp,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) from: Who,
    pub(crate) to: Who,
    pub(crate) kind: Kind,
    pub(crate) port: u16,
    pub(crate) is_v4: bool,
}

const PODS: [(&str, &str, &str, &str); 4] = [
    ("x", "a", "10.7.1.2", "fd07:1::2"),
    ("x", "b", "10.7.1.3", "fd07:1::3"),
    ("x", "c", "10.7.1.4", "fd07:1::4"),
    ("y", "d", "10.7.1.5", "fd07:1::5"),
];

pub(crate) struct Scene {
    people: Vec<(Who, Place, Vec<IpAddr>)>,
    policies: Vec<Value>,
    crowd: usize,
    rules: Rules,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let node = Place::enter_new();
        ip("link set lo up");
        ip("addr add 10.7.1.1/32 dev lo");
        for (name, value) in [("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")] {
            std::fs::write(format!("/proc/sys/net/{name}"), value).unwrap();
        }
        let mut people = Vec::new();
        for (ns, name, v4, v6) in PODS {
            let place = Place::new();
            ip(&format!("link add p-{name} type veth peer name eth0 netns {}", place.path().display()));
            ip(&format!("link set p-{name} up"));
            ip(&format!("addr add fe80::1/64 dev p-{name} nodad"));
            place.inside(|| {
                ip("link set lo up");
                ip(&format!("addr add {v4}/32 dev eth0"));
                ip(&format!("addr add {v6}/128 dev eth0 nodad"));
                ip("link set eth0 up");
                ip("route add 10.7.1.1 dev eth0");
                ip("route add default via 10.7.1.1");
                ip("-6 route add default via fe80::1 dev eth0");
            });
            ip(&format!("route add {v4}/32 dev p-{name} src 10.7.1.1"));
            ip(&format!("-6 route add {v6}/128 dev p-{name}"));
            people.push((Who { ns, name }, place, vec![v4.parse().unwrap(), v6.parse().unwrap()]));
        }
        let world = Place::new();
        ip(&format!("link add out type veth peer name in netns {}", world.path().display()));
        ip("link set out up");
        ip("addr add 192.0.2.1/24 dev out");
        ip("route add default via 192.0.2.9");
        world.inside(|| {
            ip("link set lo up");
            ip("link set in up");
            ip("addr add 192.0.2.9/24 dev in");
            ip("route add 10.7.1.0/24 via 192.0.2.1");
        });
        people.push((Who { ns: "", name: NODE }, node, vec!["192.0.2.1".parse().unwrap()]));
        people.push((Who { ns: "", name: WORLD }, world, vec!["192.0.2.9".parse().unwrap()]));
        for (_, place, addresses) in &people {
            for address in addresses {
                place.serve(SocketAddr::new(*address, 80));
                place.serve(SocketAddr::new(*address, 81));
            }
        }
        Self { people, policies: vec![], crowd: 0, rules: Rules::new(TABLE) }
    }

    pub(crate) fn place(&self, name: &str) -> &Place {
        &self.people.iter().find(|(who, ..)| who.name == name).unwrap().1
    }

    /// As many pods more as this, on another node.
    pub(crate) fn crowd(&mut self, count: usize) {
        self.crowd = count;
    }

    pub(crate) fn wanted(&self) -> Wanted {
        let here = PODS.map(|(ns, name, v4, v6)| {
            let port = if name == "c" { 81 } else { 80 };
            json!({
                "metadata": {"namespace": ns, "name": name, "labels": {"pod": name}},
                "spec": {"nodeName": "n", "containers": [{"ports": [{"name": "web", "containerPort": port}]}]},
                "status": {"phase": "Running", "podIPs": [{"ip": v4}, {"ip": v6}]},
            })
        });
        let others = (0..self.crowd).map(|at| {
            let (v4, v6) = (format!("10.7.{}.{}", 2 + at / 250, at % 250), format!("fd07:2::{at:x}"));
            json!({
                "metadata": {"namespace": "y", "name": format!("crowd-{at}")},
                "spec": {"nodeName": "m"},
                "status": {"phase": "Running", "podIPs": [{"ip": v4}, {"ip": v6}]},
            })
        });
        let pods: Vec<Value> = here.into_iter().chain(others).collect();
        let namespaces = ["x", "y"].map(|ns| json!({"metadata": {"name": ns, "labels": {"ns": ns}}}));
        compile(&read(&self.policies), &read(&pods), &read(&namespaces), &Places::default(), "n")
    }

    pub(crate) fn enforce(&mut self, policies: Vec<Value>) {
        self.policies = policies;
        let wanted = self.wanted();
        self.rules.become_these(wanted).unwrap();
    }

    /// What was known of the kernel is forgotten.
    pub(crate) fn start_again(&mut self) {
        self.rules = Rules::new(TABLE);
    }

    pub(crate) fn has_table(&self) -> bool {
        Socket::netfilter().unwrap().tables().unwrap().iter().any(|table| table == TABLE)
    }

    /// Everybody tries everybody else in every way there is; `allowed` says what must come of it.
    pub(crate) fn check(&self, case: &str, allowed: impl Fn(Probe) -> bool) {
        std::thread::scope(|scope| {
            for (from, place, own) in &self.people {
                for (to, _, addresses) in self.people.iter().filter(|(to, ..)| to != from) {
                    for address in addresses {
                        for (kind, port) in
                            [(Kind::Tcp, 80), (Kind::Tcp, 81), (Kind::Udp, 80), (Kind::Udp, 81)]
                        {
                            let probe = Probe { from: *from, to: *to, kind, port, is_v4: address.is_ipv4() };
                            let has_way = own.iter().any(|own| own.is_ipv4() == address.is_ipv4());
                            // The node has no address of the newer family of its own, and the world none at all.
                            if !has_way {
                                continue;
                            }
                            let (expected, target) = (allowed(probe), SocketAddr::new(*address, port));
                            scope.spawn(move || {
                                let patience = if expected { PATIENCE } else { REFUSED };
                                let found = match kind {
                                    Kind::Tcp => place.hears_tcp(target, patience),
                                    Kind::Udp => place.hears_udp(target, patience),
                                };
                                assert_eq!(found, expected, "{case}: {probe:?}");
                            });
                        }
                    }
                }
            }
        });
    }

    /// An address that leads to a pod, for everybody, by port 80.
    pub(crate) fn make_service(&self, address: &str, pod: &str) {
        let octets = |text: &str| text.parse::<std::net::Ipv4Addr>().unwrap().octets();
        let (address, pod) = (octets(address), octets(pod));
        let mut batch = Batch::of("services");
        batch.table();
        batch.set("doors", &[Column::V4, Column::Protocol, Column::Port], &[Column::V4, Column::Port]);
        batch.set("self", &[Column::V4, Column::V4], &[]);
        let port = [0, 80, 0, 0];
        let key = [&address[..], &[6, 0, 0, 0], &port].concat();
        batch.element("doors", &key, Some(&[&pod[..], &port].concat()));
        batch.element("self", &[pod, pod].concat(), None);
        let (first, second, third) = (Register(0), Register(1), Register(2));
        let rule = Rule::new().family(Family::V4).keep_target(Family::V4, first).keep_protocol(second);
        let rule = rule.keep_target_port(third).translated_by("doors", first, first);
        let rule = rule.send_to(Family::V4, first, second);
        for (chain, hook) in [("arriving", Hook::Arriving), ("from-here", Hook::FromHere)] {
            batch.chain_at(chain, Work::Translate, hook, -100).rule(chain, &rule);
        }
        let rule =
            Rule::new().family(Family::V4).keep_source(Family::V4, first).keep_target(Family::V4, second);
        batch.chain_at("leaving", Work::Translate, Hook::Leaving, 100);
        batch.rule("leaving", &rule.known_to("self", first).masquerade());
        Socket::netfilter().unwrap().apply(&mut batch).unwrap();
    }
}

pub(crate) fn policy(ns: &str, spec: Value) -> Value {
    json!({"metadata": {"namespace": ns, "name": "p"}, "spec": spec})
}

fn read<T: serde::de::DeserializeOwned>(objects: &[Value]) -> Vec<Arc<T>> {
    objects.iter().map(|object| Arc::new(serde_json::from_value(object.clone()).unwrap())).collect()
}
