//! Several nodes with a real kernel: nodes, their pods, a switch and a router are network namespaces of one thread. Needs root and `ip`.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong, and make namespaces"
)]

#[path = "scene/place.rs"]
mod place;

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use kedge_netlink::Socket;
use kedge_netlink::monitor::Monitor;
use kedge_network::cni::answer;
use kedge_network::{Backend, Between, Change, Member, Network, Tended, concerns, prepare, remove, tend};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
use serde_json::Value;

use place::{Place, caller, ip, on_a_thread};

/// A node with one pod.
struct Node {
    place: Place,
    data: tempfile::TempDir,
    network: Network,
    member: Member,
    pod: Place,
}

/// Nodes 1 and 2 share a link; 3 is behind a router. Each has one pod, 10.7.N.2 and fd07:N::2.
struct Scene {
    between: Between,
    nodes: Vec<Node>,
    router: Place,
    switch: Place,
}

const FAR: usize = 3;
/// Packets do not travel for longer than this.
const ARRIVES: Duration = Duration::from_millis(500);

impl Scene {
    fn new(between: Between) -> Self {
        let (switch, router) = (Place::new(), Place::new());
        let plug = |place: &Place, port: &str| {
            switch.inside(|| {
                ip(&format!("link add {port} type veth peer name eth0 netns {}", place.path().display()));
                ip(&format!("link set {port} up"));
            });
        };
        switch.inside(|| {
            ip("link add near type bridge");
            ip("link add far type bridge");
            ip("link set near up");
            ip("link set far up");
        });
        router.inside(|| {
            ip("link set lo up");
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
            std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").unwrap();
        });
        switch.inside(|| {
            for side in ["near", "far"] {
                let path = router.path();
                ip(&format!("link add r-{side} type veth peer name {side} netns {}", path.display()));
                ip(&format!("link set r-{side} up master {side}"));
            }
        });
        router.inside(|| {
            for (side, v4, v6) in [
                ("near", "192.0.2.254/24", "2001:db8:1::fe/64"),
                ("far", "198.51.100.254/24", "2001:db8:2::fe/64"),
            ] {
                ip(&format!("link set {side} up"));
                ip(&format!("addr add {v4} dev {side}"));
                ip(&format!("addr add {v6} dev {side} nodad"));
            }
        });
        let nodes = (1..=3).map(|number| {
            let place = Place::new();
            plug(&place, &format!("n{number}"));
            let side = if number == FAR { "far" } else { "near" };
            switch.inside(|| ip(&format!("link set n{number} master {side}")));
            let (v4, v6, out, out_v6) = match number {
                FAR => ("198.51.100", "2001:db8:2:", "198.51.100.254", "2001:db8:2::fe"),
                _ => ("192.0.2", "2001:db8:1:", "192.0.2.254", "2001:db8:1::fe"),
            };
            place.inside(|| {
                ip("link set lo up");
                ip("link set eth0 up");
                ip(&format!("addr add {v4}.{number}/24 dev eth0"));
                ip(&format!("addr add {v6}:{number}/64 dev eth0 nodad"));
                ip(&format!("route add default via {out}"));
                ip(&format!("-6 route add default via {out_v6}"));
            });
            let member = Member {
                name: format!("n{number}"),
                addresses: vec![
                    format!("{v4}.{number}").parse().unwrap(),
                    format!("{v6}:{number}").parse().unwrap(),
                ],
                ranges: vec![
                    format!("10.7.{number}.0/24").parse().unwrap(),
                    format!("fd07:{number}::/64").parse().unwrap(),
                ],
            };
            Node::new(place, member)
        });
        let nodes = nodes.collect();
        Self { between, nodes, router, switch }
    }

    fn node(&self, number: usize) -> &Node {
        &self.nodes[number - 1]
    }

    /// As the node does when something changed.
    fn tend(&self, number: usize) -> Tended {
        let me = self.node(number);
        let others: Vec<Member> =
            self.nodes.iter().map(|node| node.member.clone()).filter(|other| *other != me.member).collect();
        me.place.inside(|| tend(&me.network, self.between, &me.member, &others)).unwrap()
    }

    fn tend_all(&self) {
        for number in 1..=self.nodes.len() {
            let lost = self.tend(number).lost;
            assert!(lost.is_empty(), "node {number} does not reach all: {lost:?}");
        }
    }

    /// Every pod calls every other and is seen as himself.
    fn everybody_meets(&self, case: &str) {
        for from in 1..=self.nodes.len() {
            for to in (1..=self.nodes.len()).filter(|to| *to != from) {
                for (target, seen) in [
                    (format!("10.7.{to}.2"), format!("10.7.{from}.2")),
                    (format!("fd07:{to}::2"), format!("fd07:{from}::2")),
                ] {
                    let case = format!("{case}: pod of {from} to {target}");
                    assert_eq!(self.meet(&self.node(from).pod, to, &target, &case), seen, "{case}");
                }
            }
        }
    }

    fn meet(&self, from: &Place, to: usize, target: &str, case: &str) -> String {
        let at = if target.contains(':') { format!("[{target}]:80") } else { format!("{target}:80") };
        let server = self.node(to).pod.listen(&at);
        let mut stream = from.call(&at).unwrap_or_else(|error| panic!("{case}: {error}"));
        caller(&server, &mut stream).to_string()
    }
}

impl Node {
    fn new(place: Place, member: Member) -> Self {
        let data = tempfile::tempdir().unwrap();
        let cluster = vec!["10.7.0.0/16".parse().unwrap(), "fd07::/16".parse().unwrap()];
        let network = Network::new(data.path(), &member.name, 1500, member.ranges.clone(), cluster);
        let pod = Place::new();
        place.inside(|| {
            prepare(&network).unwrap();
            add(&network, "a", &pod);
        });
        Self { place, data, network, member, pod }
    }

    /// Our routes to other nodes, neighbours and carriers, as many as there are.
    fn ways(&self) -> (usize, usize, usize) {
        self.place.inside(|| {
            let mut socket = Socket::route().unwrap();
            let routes = socket.routes().unwrap();
            let routes = routes.iter().filter(|route| route.origin == 107 && route.via.is_some()).count();
            let Ok(tunnel) = socket.link(&self.network.tunnel()) else { return (routes, 0, 0) };
            let neighbours = socket.neighbours(tunnel.index).unwrap().len();
            (routes, neighbours, socket.carriers(tunnel.index).unwrap().len())
        })
    }

    fn has(&self, link: &str) -> bool {
        self.place.inside(|| Socket::route().unwrap().link(link).is_ok())
    }
}

fn add(network: &Network, name: &str, pod: &Place) {
    let list: Value = serde_json::from_str(&network.config("kedge")).unwrap();
    let mut config = list["plugins"][0].clone();
    config["cniVersion"] = list["cniVersion"].clone();
    let variable = |variable: &str| match variable {
        "CNI_COMMAND" => Some("ADD".to_owned()),
        "CNI_CONTAINERID" => Some(name.to_owned()),
        "CNI_IFNAME" => Some("eth0".to_owned()),
        "CNI_NETNS" => Some(pod.path().to_str().unwrap().to_owned()),
        _ => None,
    };
    let outcome = answer("kedge", variable, config.to_string().as_bytes());
    assert!(outcome.is_done, "{}", outcome.text);
}

/// Whether a datagram of this size, headers and all, arrives although nobody may cut it.
fn fits(from: &Place, to: &Place, target: &str, size: usize) -> bool {
    let hears = to.inside(|| UdpSocket::bind((target, 0))).unwrap();
    hears.set_read_timeout(Some(ARRIVES)).unwrap();
    let says = from.inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
    set_ip_mtu_discover(&says, Ipv4PathMtuDiscovery::DO).unwrap();
    says.connect(hears.local_addr().unwrap()).unwrap();
    let bytes = vec![7; size - 28];
    says.send(&bytes).is_ok() && hears.recv(&mut vec![0; size]).is_ok_and(|heard| heard == bytes.len())
}

#[test]
fn pods_of_all_nodes_reach_each_other() {
    on_a_thread(|| {
        let mut scene = Scene::new(Between::default());
        scene.tend_all();
        // Two ranges of the node on the same link go straight, two of the one beyond through the tunnel.
        assert_eq!(scene.node(1).ways(), (4, 2, 1));
        assert_eq!(scene.node(FAR).ways(), (4, 4, 2));
        scene.everybody_meets("at first");
        assert_eq!(scene.tend(1).changes + scene.tend(FAR).changes, 0, "nothing is done twice");

        for (to, seen) in [(2, "192.0.2.1"), (FAR, "10.7.1.0")] {
            let case = format!("the node itself to a pod of {to}");
            let node = &scene.node(1).place;
            assert_eq!(scene.meet(node, to, &format!("10.7.{to}.2"), &case), seen, "{case}");
        }

        // Packets of pods fit into the tunnel from now on, also those of pods that are there.
        let mtu = scene.tend(1).mtu;
        assert_eq!(mtu, 1450);
        for node in &mut scene.nodes {
            node.network.mtu = mtu;
            node.place.inside(|| prepare(&node.network)).unwrap();
        }
        let (near, far) = (&scene.node(1).pod, &scene.node(FAR).pod);
        assert!(fits(near, far, "10.7.3.2", 1450), "the largest that a pod may send");
        assert!(!fits(near, far, "10.7.3.2", 1451), "larger than its link");
        scene.everybody_meets("with smaller packets");
        // A pod that comes while its runtime still has the older configuration.
        let (node, late) = (scene.node(1), Place::new());
        node.place.inside(|| add(&Network { mtu: 1500, ..node.network.clone() }, "late", &late));
        assert_eq!(late.inside(|| Socket::route().unwrap().link("eth0").unwrap().mtu), mtu);
        drop(scene.router);
    });
}

#[test]
fn a_pod_with_large_packets_learns_what_the_tunnel_takes() {
    on_a_thread(|| {
        let scene = Scene::new(Between::default());
        scene.tend_all();
        let (near, far) = (&scene.node(1).pod, &scene.node(FAR).pod);
        assert!(!fits(near, far, "10.7.3.2", 1500));
        assert!(fits(near, far, "10.7.3.2", 1450));
        assert!(fits(near, &scene.node(2).pod, "10.7.2.2", 1500), "straight ways take whole packets");
        assert!(scene.switch.inside(|| Socket::route().unwrap().link("near").is_ok()));
    });
}

#[test]
fn nodes_that_move_leave_or_lose_their_ways() {
    on_a_thread(|| {
        let mut scene = Scene::new(Between::default());
        scene.tend_all();
        let before = scene.node(1).ways();

        // Node 3 gets other addresses, and says so.
        scene.node(FAR).place.inside(|| {
            ip("addr del 198.51.100.3/24 dev eth0");
            ip("addr del 2001:db8:2::3/64 dev eth0");
            ip("addr add 198.51.100.33/24 dev eth0");
            ip("addr add 2001:db8:2::33/64 dev eth0 nodad");
            // The way out went with the address.
            ip("route replace default via 198.51.100.254");
            ip("-6 route replace default via 2001:db8:2::fe");
        });
        scene.nodes[FAR - 1].member.addresses =
            vec!["198.51.100.33".parse().unwrap(), "2001:db8:2::33".parse().unwrap()];
        scene.tend_all();
        scene.everybody_meets("after a node moved");
        assert_eq!(scene.node(1).ways(), before);

        // Somebody takes ways and links away; the kernel says so.
        let node = scene.node(1);
        let mut monitor = node.place.inside(|| Monitor::open().unwrap());
        let tunnel = node.network.tunnel();
        for (case, line) in [
            ("a route", "route del 10.7.2.0/24".to_owned()),
            ("a way of the newer family", "-6 route del fd07:3::/64".to_owned()),
            ("a neighbour", format!("neigh del 10.7.3.0 dev {tunnel}")),
            ("the tunnel", format!("link del {tunnel}")),
            ("the tunnel is off", format!("link set {tunnel} down")),
        ] {
            node.place.inside(|| ip(&line));
            let changes = monitor.changes().unwrap();
            let heard = node.place.inside(|| changes.iter().any(|change| concerns(&node.network, change)));
            assert!(heard, "{case}: {changes:?}");
            assert!(scene.tend(1).changes > 0, "{case}");
            assert_eq!(node.ways(), before, "{case}");
            scene.everybody_meets(case);
            monitor.changes().unwrap();
            assert_eq!(scene.tend(1).changes, 0, "{case}");
            assert_eq!(monitor.changes().unwrap(), [], "looking changes nothing");
        }

        // A pod comes and goes: nobody need look at any way.
        node.place.inside(|| {
            let pod = Place::new();
            add(&node.network, "short", &pod);
            let mut came = monitor.changes().unwrap();
            // The tunnel came back a moment ago, and the kernel may only now be sure of its addresses.
            let own = Socket::route().unwrap().link(&tunnel).unwrap().index;
            came.retain(
                |change| !matches!(change, Change::Address(at) | Change::Route(Some(at)) if *at == own),
            );
            assert!(came.iter().any(|change| matches!(change, Change::Route(_))), "{came:?}");
            assert!(
                !came.iter().any(|change| concerns(&node.network, change)),
                "{came:?}; {own} is the tunnel"
            );
        });

        // Node 3 leaves the cluster.
        let gone = scene.nodes.remove(FAR - 1);
        scene.tend_all();
        assert_eq!(scene.node(1).ways(), (2, 0, 0));
        scene.everybody_meets("the two that are left");
        gone.place.inside(|| remove(&gone.network)).unwrap();
        assert_eq!(gone.ways(), (0, 0, 0));
        assert!(!gone.has(&gone.network.tunnel()) && !gone.has(&gone.network.bridge));
        assert!(!gone.data.path().join("network").exists());
        let tables = gone.place.inside(|| Socket::netfilter().unwrap().tables().unwrap());
        assert!(tables.is_empty(), "{tables:?}");
    });
}

#[test]
fn a_bridge_that_was_taken_away_comes_back_with_its_pods() {
    on_a_thread(|| {
        let scene = Scene::new(Between::default());
        scene.tend_all();
        let node = scene.node(2);
        node.place.inside(|| {
            ip(&format!("link del {}", node.network.bridge));
            assert!(!kedge_network::is_prepared(&node.network).unwrap());
            prepare(&node.network).unwrap();
            assert!(kedge_network::is_prepared(&node.network).unwrap());
        });
        scene.everybody_meets("after the bridge came back");
    });
}

#[test]
fn who_wants_it_otherwise() {
    on_a_thread(|| {
        let mut scene = Scene::new(Between { backend: Backend::VxlanOnly, port: 8999 });
        scene.tend_all();
        assert_eq!(scene.node(1).ways(), (4, 4, 2));
        scene.everybody_meets("always in a tunnel");

        // Another port, and later none at all.
        scene.between.port = 9000;
        scene.tend_all();
        scene.everybody_meets("by another port");
        scene.between.backend = Backend::Routes;
        let tended = scene.tend(1);
        assert_eq!((tended.mtu, tended.lost.len()), (1500, 2), "{tended:?}");
        assert!(tended.lost[0].contains("--pod-network"), "{tended:?}");
        assert_eq!(scene.node(1).ways(), (2, 0, 0));
        assert!(!scene.node(1).has(&scene.node(1).network.tunnel()));
        scene.tend(2);
        assert_eq!(scene.meet(&scene.node(1).pod, 2, "10.7.2.2", "straight"), "10.7.1.2");

        // Tunnels between machines that know each other by the newer family.
        scene.between.backend = Backend::Vxlan;
        for node in &mut scene.nodes {
            node.member.addresses.retain(IpAddr::is_ipv6);
        }
        scene.tend_all();
        scene.everybody_meets("tunnels of the newer family");
        assert_eq!(scene.tend(1).mtu, 1430);
    });
}

#[test]
fn ranges_of_networks_that_are_there_are_refused() {
    on_a_thread(|| {
        let _node = Place::enter_new();
        ip("link set lo up");
        ip("link add out0 type veth peer name out1");
        ip("addr add 10.7.5.1/24 dev out0");
        ip("link set out0 up");
        ip("link set out1 up");
        ip("route add 10.8.1.0/25 dev out0");
        ip("route add 10.9.0.0/16 dev out0");
        let data = tempfile::tempdir().unwrap();
        for (range, refused) in [
            ("10.7.5.0/24", Some("10.7.5.0/24")),
            ("10.7.4.0/22", Some("10.7.5.0/24")),
            ("10.7.5.128/25", Some("10.7.5.0/24")),
            ("10.8.1.0/24", Some("10.8.1.0/25")),
            ("10.9.1.0/24", None),
            ("10.7.6.0/24", None),
        ] {
            let network = Network::new(data.path(), "n", 1500, vec![range.parse().unwrap()], vec![]);
            let told = prepare(&network).err().map(|error| error.to_string());
            assert_eq!(told.is_some(), refused.is_some(), "{range}: {told:?}");
            if let (Some(told), Some(refused)) = (told, refused) {
                assert!(
                    told.contains(refused) && told.contains("out0") && told.contains("--cluster-cidr"),
                    "{range}: {told}"
                );
            }
            remove(&network).unwrap();
        }
    });
}
