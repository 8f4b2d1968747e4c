//! A node's network with a real kernel: nodes, pods and the world beyond are network namespaces of one thread. Needs root and `ip`.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong, and make namespaces"
)]

#[path = "scene/place.rs"]
mod place;

use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use kedge_netlink::Socket;
use kedge_network::cni::{Outcome, answer};
use kedge_network::{Network, prepare, reap, remove};
use serde_json::{Value, json};

use place::{PATIENCE, Place, caller, ip, on_a_thread};

/// For what must not happen, and does not happen any later either.
const REFUSED: Duration = Duration::from_millis(300);

/// A node and the world beyond it: 192.0.2.1 is the node's, 192.0.2.9 the world's.
struct Scene {
    data: tempfile::TempDir,
    node: Place,
    world: Place,
    network: Network,
}

impl Scene {
    fn new(ranges: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let node = Place::enter_new();
        let world = Place::new();
        ip("link set lo up");
        ip(&format!("link add out type veth peer name in netns {}", world.path().display()));
        ip("addr add 192.0.2.1/24 dev out");
        ip("link set out up");
        world.inside(|| {
            ip("link set lo up");
            ip("addr add 192.0.2.9/24 dev in");
            ip("link set in up");
        });
        let ranges = ranges.iter().map(|range| range.parse().unwrap()).collect();
        let network = Network::new(data.path(), "n", 1400, ranges, vec!["10.7.0.0/16".parse().unwrap()]);
        prepare(&network).unwrap();
        Self { data, node, world, network }
    }

    fn ask(&self, command: &str, name: &str, namespace: &Path, ports: Value) -> Outcome {
        let list: Value = serde_json::from_str(&self.network.config("kedge")).unwrap();
        let mut config = list["plugins"][0].clone();
        config["cniVersion"] = list["cniVersion"].clone();
        config["runtimeConfig"] = json!({"portMappings": ports});
        let namespace = namespace.to_str().unwrap().to_owned();
        let variable = |variable: &str| match variable {
            "CNI_COMMAND" => Some(command.to_owned()),
            "CNI_CONTAINERID" => Some(name.to_owned()),
            "CNI_IFNAME" => Some("eth0".to_owned()),
            "CNI_NETNS" => Some(namespace.clone()),
            _ => None,
        };
        answer("kedge", variable, config.to_string().as_bytes())
    }

    /// A pod and its addresses.
    fn pod(&self, name: &str, ports: Value) -> (Place, Vec<IpAddr>) {
        let place = Place::new();
        let addresses = self.connect(name, &place, ports);
        (place, addresses)
    }

    fn connect(&self, name: &str, place: &Place, ports: Value) -> Vec<IpAddr> {
        let outcome = self.ask("ADD", name, &place.path(), ports);
        assert!(outcome.is_done, "{}", outcome.text);
        let told: Value = serde_json::from_str(&outcome.text).unwrap();
        let ips = told["ips"].as_array().unwrap().iter().map(|ip| ip["address"].as_str().unwrap());
        ips.map(|ip| ip.split_once('/').unwrap().0.parse().unwrap()).collect()
    }

    fn delete(&self, name: &str, place: &Place) {
        let outcome = self.ask("DEL", name, &place.path(), json!([]));
        assert!(outcome.is_done, "{}", outcome.text);
    }

    /// Ends of wires to pods. The bridge is of their group, and has no ports.
    fn wires(&self) -> usize {
        let mut socket = Socket::route().unwrap();
        let bridge = socket.link(&self.network.bridge).unwrap();
        let links = socket.links().unwrap();
        assert!(links.iter().all(|link| link.master.is_none()), "{links:?}");
        links.iter().filter(|link| link.group == bridge.group).count() - 1
    }

    fn reserved(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.data.path().join("network/addresses")).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn pods_reach_each_other_the_node_and_the_world() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24", "fd07:1::/64"]);
        let (a, a_ips) = scene.pod("a", json!([]));
        let (b, b_ips) = scene.pod("b", json!([]));
        assert_eq!(a_ips, ["10.7.1.2".parse::<IpAddr>().unwrap(), "fd07:1::2".parse().unwrap()]);

        for (case, server, target, seen) in [
            ("pod to pod", b.listen("10.7.1.3:80"), "10.7.1.3:80", "10.7.1.2"),
            ("pod to pod, the newer family", b.listen("[fd07:1::3]:80"), "[fd07:1::3]:80", "fd07:1::2"),
            ("pod to the node", scene.node.listen("10.7.1.1:81"), "10.7.1.1:81", "10.7.1.2"),
            ("pod to the node's own address", scene.node.listen("192.0.2.1:81"), "192.0.2.1:81", "10.7.1.2"),
            (
                "pod to the world, which knows no pods",
                scene.world.listen("192.0.2.9:80"),
                "192.0.2.9:80",
                "192.0.2.1",
            ),
        ] {
            let mut stream = a.call(target).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(caller(&server, &mut stream).to_string(), seen, "{case}");
        }
        let server = a.listen("10.7.1.2:90");
        let mut stream = scene.node.call("10.7.1.2:90").unwrap();
        assert_eq!(caller(&server, &mut stream).to_string(), "10.7.1.1", "node to pod");
        assert_eq!((b_ips.len(), scene.wires()), (2, 2));

        for name in ["a", "b"] {
            let outcome =
                scene.ask("CHECK", name, if name == "a" { a.path() } else { b.path() }.as_path(), json!([]));
            assert!(outcome.is_done, "{}", outcome.text);
        }
        scene.delete("a", &a);
        scene.delete("a", &a);
        drop(b);
        let outcome = scene.ask("DEL", "b", Path::new(""), json!([]));
        assert!(outcome.is_done, "{}", outcome.text);
        assert_eq!((scene.wires(), scene.reserved().len()), (0, 0));
        assert!(!scene.ask("CHECK", "a", &a.path(), json!([])).is_done);
    });
}

#[test]
fn doors_lead_from_the_node_to_pods() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24"]);
        let web = json!([
            {"hostPort": 8080, "containerPort": 80, "protocol": "tcp"},
            {"hostPort": 5353, "containerPort": 53, "protocol": "udp"},
        ]);
        let (web_pod, _) = scene.pod("web", web.clone());
        // As containerd writes it.
        let local =
            json!([{"HostPort": 9000, "ContainerPort": 80, "Protocol": "TCP", "HostIP": "127.0.0.1"}]);
        let (local_pod, _) = scene.pod("local", local);
        let (other, _) = scene.pod("other", json!([]));
        let server = web_pod.listen("0.0.0.0:80");
        let local_server = local_pod.listen("0.0.0.0:80");

        let check = |case: &str| {
            for (case, from, to, seen) in [
                (format!("{case}: from the world"), &scene.world, "192.0.2.1:8080", "192.0.2.9"),
                (format!("{case}: from the node"), &scene.node, "192.0.2.1:8080", "192.0.2.1"),
                (format!("{case}: from the node to itself"), &scene.node, "127.0.0.1:8080", "10.7.1.1"),
                (format!("{case}: from another pod"), &other, "192.0.2.1:8080", "10.7.1.4"),
                (format!("{case}: from the very pod"), &web_pod, "192.0.2.1:8080", "10.7.1.1"),
            ] {
                let mut stream = from.call(to).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(caller(&server, &mut stream).to_string(), seen, "{case}");
            }
            let mut stream = scene.node.call("127.0.0.1:9000").unwrap();
            assert_eq!(caller(&local_server, &mut stream).to_string(), "10.7.1.1", "{case}");
        };
        check("at first");
        assert!(scene.world.inside(|| {
            TcpStream::connect_timeout(&"192.0.2.1:9000".parse::<SocketAddr>().unwrap(), REFUSED).is_err()
        }));

        let answers = web_pod.inside(|| UdpSocket::bind("0.0.0.0:53")).unwrap();
        let asks = scene.world.inside(|| UdpSocket::bind("192.0.2.9:0")).unwrap();
        asks.connect("192.0.2.1:5353").unwrap();
        asks.set_read_timeout(Some(PATIENCE)).unwrap();

        let ask = |answers: &UdpSocket, who: &str| {
            let mut heard = [0; 1];
            answers.set_read_timeout(Some(PATIENCE)).unwrap();
            asks.send(b"?").unwrap();
            let (_, from) = answers.recv_from(&mut heard).unwrap_or_else(|error| panic!("{who}: {error}"));
            answers.send_to(b"!", from).unwrap();
            asks.recv(&mut heard).unwrap_or_else(|error| panic!("{who}: {error}"));
            assert_eq!(&heard, b"!");
        };
        ask(&answers, "the first pod");

        let taken = scene.ask("ADD", "late", &other.path(), json!([{"hostPort": 8080, "containerPort": 1}]));
        assert!(!taken.is_done && taken.text.contains("8080"), "{}", taken.text);
        prepare(&scene.network).unwrap();
        check("after a new start");

        scene.delete("web", &web_pod);
        assert!(scene.world.inside(|| {
            TcpStream::connect_timeout(&"192.0.2.1:8080".parse::<SocketAddr>().unwrap(), REFUSED).is_err()
        }));
        let (again, _) = scene.pod("again", web);
        let server = again.listen("0.0.0.0:80");
        let mut stream = scene.world.call("192.0.2.1:8080").unwrap();
        assert_eq!(caller(&server, &mut stream).to_string(), "192.0.2.9", "the door is free again");
        let answers = again.inside(|| UdpSocket::bind("0.0.0.0:53")).unwrap();
        ask(&answers, "the second pod, of one who asked the first before");
    });
}

#[test]
fn what_nobody_gave_back_is_found() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/29"]);
        let (kept, _) = scene.pod("kept", json!([]));
        let (lost, _) = scene.pod("lost", json!([{"hostPort": 8080, "containerPort": 80}]));
        // Its wire goes with it, as the kernel does it, if not at once.
        drop(lost);
        assert_eq!(reap(&scene.network).unwrap(), 1);
        assert_eq!(scene.reserved(), ["10.7.1.2"]);

        // A call of which nobody waited for the end is made again.
        let again = Place::new();
        let first = scene.connect("twice", &again, json!([]));
        let second = scene.connect("twice", &Place::new(), json!([]));
        assert_ne!(first, second);
        assert_eq!(scene.reserved(), ["10.7.1.2".to_owned(), second[0].to_string()]);

        // The bridge was taken away: the next pod brings it back.
        ip(&format!("link del {}", scene.network.bridge));
        let (late, ips) = scene.pod("late", json!([]));
        let server = late.listen("0.0.0.0:80");
        let mut stream = scene.node.call(&format!("{}:80", ips[0])).unwrap();
        assert_eq!(caller(&server, &mut stream).to_string(), "10.7.1.1");
        drop(kept);

        remove(&scene.network).unwrap();
        remove(&scene.network).unwrap();
        assert!(Socket::route().unwrap().link(&scene.network.bridge).is_err());
        assert!(!scene.data.path().join("network").exists());
    });
}

#[test]
fn a_range_that_the_node_had_before_goes_with_its_last_pod() {
    on_a_thread(|| {
        let mut scene = Scene::new(&["10.7.1.0/24"]);
        let (pod, _) = scene.pod("a", json!([]));
        scene.network.ranges = vec!["10.7.2.0/24".parse().unwrap()];
        let gateways = |scene: &Scene| {
            prepare(&scene.network).unwrap();
            let mut socket = Socket::route().unwrap();
            let bridge = socket.link(&scene.network.bridge).unwrap().index;
            let held = socket.addresses().unwrap().into_iter().filter(|held| held.link == bridge);
            held.map(|held| held.address)
                .filter(IpAddr::is_ipv4)
                .map(|held| held.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(gateways(&scene), ["10.7.1.1", "10.7.2.1"]);
        let server = pod.listen("0.0.0.0:80");
        let mut stream = scene.node.call("10.7.1.2:80").unwrap();
        caller(&server, &mut stream);
        scene.delete("a", &pod);
        assert_eq!(gateways(&scene), ["10.7.2.1"]);
    });
}

#[test]
fn two_nodes_on_one_machine_do_not_meet() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24"]);
        let data = tempfile::tempdir().unwrap();
        let with = |range: &str| Network::new(data.path(), "m", 1500, vec![range.parse().unwrap()], vec![]);
        let taken = prepare(&with("10.7.1.0/24")).unwrap_err().to_string();
        assert!(taken.contains(&scene.network.bridge), "{taken}");
        let other = with("10.7.2.0/24");
        prepare(&other).unwrap();
        let (pod, _) = scene.pod("a", json!([]));
        remove(&other).unwrap();
        let server = pod.listen("0.0.0.0:80");
        let mut stream = scene.node.call("10.7.1.2:80").unwrap();
        caller(&server, &mut stream);
    });
}

#[test]
fn nobody_reaches_what_only_the_node_may() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24"]);
        let local = json!([{"hostPort": 9000, "containerPort": 80, "hostIP": "127.0.0.1"}]);
        let (behind, _) = scene.pod("behind", local);
        let door = behind.listen("0.0.0.0:80");
        let own = scene.node.listen("127.0.0.1:9001");
        let (pod, _) = scene.pod("a", json!([]));
        // What is sent to 127.0.0.1 leaves the pod only if it wants it to.
        pod.inside(|| {
            std::fs::write("/proc/sys/net/ipv4/conf/eth0/route_localnet", "1").unwrap();
            ip("route add 127.0.0.0/8 via 10.7.1.1 dev eth0 onlink");
        });
        for target in ["127.0.0.1:9000", "127.0.0.1:9001"] {
            let target: SocketAddr = target.parse().unwrap();
            let called = pod.inside(|| TcpStream::connect_timeout(&target, REFUSED));
            assert!(called.is_err(), "{target}");
            assert!(scene.node.call(&target.to_string()).is_ok(), "{target}");
        }
        drop((door, own));
    });
}

/// What was made when wires were ports of the bridge, or somebody took part of it away.
#[test]
fn wires_are_mended_while_they_carry() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24", "fd07:1::/64"]);
        let (a, _) = scene.pod("a", json!([]));
        let (b, _) = scene.pod("b", json!([]));
        let links = Socket::route().unwrap().links().unwrap();
        let wire = links.into_iter().find(|link| link.name.starts_with("veth")).unwrap().name;
        let meet = |case: &str| {
            for (from, to, at) in
                [(&a, &b, "10.7.1.3:80"), (&b, &a, "10.7.1.2:80"), (&a, &b, "[fd07:1::3]:80")]
            {
                let server = to.listen(at);
                let mut stream = from.call(at).unwrap_or_else(|error| panic!("{case}, {at}: {error}"));
                caller(&server, &mut stream);
            }
        };
        meet("at first");
        for (case, damage) in [
            ("no way to the pod", format!("route del 10.7.1.2 dev {wire}")),
            ("no gateway", format!("addr del 10.7.1.1/32 dev {wire}")),
            (
                "a port of the bridge, as once",
                format!("link set {wire} group 0 master {}", scene.network.bridge),
            ),
        ] {
            ip(&damage);
            assert!(!scene.ask("CHECK", "a", &a.path(), json!([])).is_done, "{case}");
            prepare(&scene.network).unwrap();
            let checked = scene.ask("CHECK", "a", &a.path(), json!([]));
            assert!(checked.is_done, "{case}: {}", checked.text);
            assert_eq!(scene.wires(), 2, "{case}");
            meet(case);
        }
    });
}
