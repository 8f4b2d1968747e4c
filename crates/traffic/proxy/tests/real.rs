//! Services with a real kernel: the node, its pods and the world beyond are network namespaces of one thread; the proxy runs in another,
//! fed by hand. Needs root and `ip`.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong, and make namespaces"
)]

#[path = "real/scene.rs"]
mod scene;
#[path = "real/sctp.rs"]
mod sctp;

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, UdpSocket};

use kedge_netlink::Socket;
use kedge_netlink::nft::Batch;
use scene::{BRIEFLY, PATIENCE, Place, Scene, TABLE, accepted, eventually, ip, on_a_thread, taken};
use serde_json::{Value, json};

const NOTHING: fn(&mut Value) = |_| ();

fn node_port(spec: &mut Value) {
    spec["type"] = json!("NodePort");
    spec["ports"][0]["nodePort"] = json!(30080);
}

#[test]
fn pods_are_called_by_a_services_address() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, two, client) = (scene.pod(2), scene.pod(3), scene.pod(4));
        scene.service("web", "10.96.0.7", NOTHING);
        scene.endpoints("web", &[(2, "here"), (3, "here")]);
        let servers = [one.listen("0.0.0.0:8080"), two.listen("0.0.0.0:8080")];
        scene.reaches(&client, "10.96.0.7:80", &servers);

        for (case, from, seen) in [
            ("a pod", &client, "10.7.1.4"),
            ("the node", &scene.node, "10.7.1.1"),
            ("the world", &scene.world, "10.7.1.1"),
        ] {
            let mut reached = BTreeSet::new();
            for _ in 0..40 {
                let _call = from.call("10.96.0.7:80").unwrap_or_else(|error| panic!("{case}: {error}"));
                let (server, caller) = accepted(&servers);
                assert_eq!(caller.ip().to_string(), seen, "{case}");
                reached.insert(server);
            }
            assert_eq!(reached.len(), 2, "{case} reaches every endpoint");
        }
        // Who calls himself is answered by the node, else he would answer himself past it.
        scene.endpoints("web", &[(2, "here")]);
        eventually("a pod reaches itself", || {
            let mut call = one.call("10.96.0.7:80").ok()?;
            let (server, caller) = accepted(&servers);
            call.write_all(b"?").unwrap();
            (server == 0 && caller.ip().to_string() == "10.7.1.1").then_some(())
        });
        // An address of a Service has no other ports.
        let error = client.call("10.96.0.7:81").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn a_service_without_endpoints_says_so_at_once() {
    on_a_thread(|| {
        let scene = Scene::new();
        let client = scene.pod(4);
        scene.service("web", "10.96.0.7", |spec| {
            node_port(spec);
            spec["ports"].as_array_mut().unwrap().push(json!({"name": "dns", "port": 53, "protocol": "UDP"}));
        });
        for (case, from, to) in [
            ("a pod", &client, "10.96.0.7:80"),
            ("the node", &scene.node, "10.96.0.7:80"),
            ("the world", &scene.world, "10.96.0.7:80"),
            ("the world, at the node's port", &scene.world, "192.0.2.1:30080"),
        ] {
            eventually(&format!("{case} is refused"), || {
                let error = from.call_briefly(to).err()?;
                (error.kind() == ErrorKind::ConnectionRefused).then_some(())
            });
        }
        for (case, from) in [("a pod", &client), ("the node", &scene.node)] {
            let asks = from.inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
            asks.connect("10.96.0.7:53").unwrap();
            asks.set_read_timeout(Some(PATIENCE)).unwrap();
            eventually(&format!("{case} is refused by UDP"), || {
                // What the last one was refused for may be told of this one.
                let sent = asks.send(b"?").err().map(|error| error.kind());
                let heard = asks.recv(&mut [0; 1]).err().map(|error| error.kind());
                [sent, heard].contains(&Some(ErrorKind::ConnectionRefused)).then_some(())
            });
        }
    });
}

#[test]
fn the_world_calls_the_nodes_port() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, client) = (scene.pod(2), scene.pod(4));
        scene.service("web", "10.96.0.7", node_port);
        scene.endpoints("web", &[(2, "here")]);
        let servers = [one.listen("0.0.0.0:8080")];
        scene.reaches(&scene.world, "192.0.2.1:30080", &servers);
        for (case, from, to, seen) in [
            ("the world", &scene.world, "192.0.2.1:30080", "10.7.1.1"),
            ("a pod", &client, "192.0.2.1:30080", "10.7.1.1"),
            ("the node", &scene.node, "192.0.2.1:30080", "10.7.1.1"),
            ("the node by its loop", &scene.node, "127.0.0.1:30080", "10.7.1.1"),
            ("the pod itself", &one, "192.0.2.1:30080", "10.7.1.1"),
        ] {
            let _call = from.call(to).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(accepted(&servers).1.ip().to_string(), seen, "{case}");
        }

        scene.service("web", "10.96.0.7", |spec| {
            node_port(spec);
            spec["externalTrafficPolicy"] = json!("Local");
        });
        eventually("the world is seen as it is", || {
            let _call = scene.world.call("192.0.2.1:30080").ok()?;
            (accepted(&servers).1.ip().to_string() == "192.0.2.9").then_some(())
        });
        let _call = client.call("192.0.2.1:30080").unwrap();
        assert_eq!(accepted(&servers).1.ip().to_string(), "10.7.1.4", "so are pods");

        // The only endpoint is on another node: those from outside are for that node's balancer, pods are led there.
        scene.endpoints("web", &[(2, "there")]);
        eventually("the world is left alone", || {
            let error = scene.world.call_briefly("192.0.2.1:30080").err()?;
            (error.kind() == ErrorKind::TimedOut).then_some(())
        });
        let _call = client.call("192.0.2.1:30080").unwrap();
        accepted(&servers);
        let _call = scene.node.call("192.0.2.1:30080").unwrap();
        accepted(&servers);
    });
}

#[test]
fn calls_within_may_stay_on_the_node() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, two, client) = (scene.pod(2), scene.pod(3), scene.pod(4));
        scene.service("web", "10.96.0.7", |spec| spec["internalTrafficPolicy"] = json!("Local"));
        scene.endpoints("web", &[(2, "here"), (3, "there")]);
        let servers = [one.listen("0.0.0.0:8080"), two.listen("0.0.0.0:8080")];
        scene.reaches(&client, "10.96.0.7:80", &servers);
        for _ in 0..20 {
            let _call = client.call("10.96.0.7:80").unwrap();
            assert_eq!(accepted(&servers).0, 0);
        }
        scene.endpoints("web", &[(3, "there")]);
        eventually("nobody is reached", || {
            let error = client.call_briefly("10.96.0.7:80").err()?;
            (error.kind() == ErrorKind::TimedOut).then_some(())
        });
    });
}

#[test]
fn other_addresses_and_who_may_call_them() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, client) = (scene.pod(2), scene.pod(4));
        scene.service("web", "10.96.0.7", |spec| {
            spec["type"] = json!("LoadBalancer");
            spec["externalIPs"] = json!(["198.51.100.7"]);
            spec["loadBalancerSourceRanges"] = json!(["192.0.2.8/29", "203.0.113.0/24"]);
            spec["status"] = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        });
        scene.endpoints("web", &[(2, "here")]);
        let servers = [one.listen("0.0.0.0:8080")];
        scene.reaches(&scene.world, "192.0.2.1:80", &servers);
        let _call = scene.world.call("198.51.100.7:80").unwrap();
        accepted(&servers);
        let error = client.call_briefly("192.0.2.1:80").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "a pod is in none of the ranges");
        let _call = client.call("198.51.100.7:80").unwrap();
        accepted(&servers);
    });
}

#[test]
fn a_client_stays_with_its_endpoint_for_a_while() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, two, three, client) = (scene.pod(2), scene.pod(3), scene.pod(5), scene.pod(4));
        let affine = |seconds: u32| {
            move |spec: &mut Value| {
                node_port(spec);
                spec["sessionAffinity"] = json!("ClientIP");
                spec["sessionAffinityConfig"] = json!({"clientIP": {"timeoutSeconds": seconds}});
            }
        };
        scene.service("web", "10.96.0.7", affine(100));
        scene.endpoints("web", &[(2, "here"), (3, "here"), (5, "here")]);
        let servers = [one.listen("0.0.0.0:8080"), two.listen("0.0.0.0:8080"), three.listen("0.0.0.0:8080")];
        scene.reaches(&client, "10.96.0.7:80", &servers);
        let reached = |to: &str| {
            let calls = (0..15).map(|_| {
                let _call = client.call(to).unwrap();
                accepted(&servers).0
            });
            calls.collect::<BTreeSet<usize>>()
        };
        let first = reached("10.96.0.7:80");
        assert_eq!(first.len(), 1, "always the same one");
        assert_eq!(reached("192.0.2.1:30080").len(), 1, "by another door, too");

        // Its endpoint goes: it is led to another one and stays there.
        let gone = *first.first().unwrap();
        let left: Vec<(u8, &str)> = [2, 3, 5]
            .into_iter()
            .enumerate()
            .filter(|(at, _)| *at != gone)
            .map(|(_, pod)| (pod, "here"))
            .collect();
        scene.endpoints("web", &left);
        let elsewhere = || {
            let _call = client.call("10.96.0.7:80").ok()?;
            (accepted(&servers).0 != gone).then_some(())
        };
        eventually("the client is led elsewhere", elsewhere);
        let second = reached("10.96.0.7:80");
        assert!(second.len() == 1 && second != first, "{second:?}");

        // After the time it is forgotten.
        scene.service("web", "10.96.0.7", affine(1));
        let remembered = || {
            scene.node.inside(|| Socket::netfilter().unwrap().elements(TABLE, "front-stay4").unwrap().len())
        };
        scene.settled();
        assert_eq!(reached("10.96.0.7:80"), second, "until then it stays");
        eventually("the client is forgotten", || (remembered() == 0).then_some(()));
        reached("10.96.0.7:80");
        assert_eq!(remembered(), 1);
    });
}

/// Asks until somebody answers, and says who.
fn ask(asks: &UdpSocket, answers: &[UdpSocket]) -> Option<usize> {
    // What was refused before may be told now.
    let _refused_before = asks.send(b"?");
    for (at, answer) in answers.iter().enumerate() {
        let mut heard = [0; 1];
        if let Ok((_, from)) = answer.recv_from(&mut heard) {
            answer.send_to(b"!", from).unwrap();
            asks.recv(&mut heard).ok()?;
            return Some(at);
        }
    }
    None
}

#[test]
fn a_udp_client_follows_its_service() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, two, client) = (scene.pod(2), scene.pod(3), scene.pod(4));
        let bind = |place: &Place| {
            let socket = place.inside(|| UdpSocket::bind("0.0.0.0:8080")).unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
            socket
        };
        let answers = [bind(&one), bind(&two)];
        let from = |place: &Place, to: &str| {
            let asks = place.inside(|| UdpSocket::bind("0.0.0.0:0")).unwrap();
            asks.connect(to).unwrap();
            // An answer of the old endpoint may find nobody who knows of the question any more.
            asks.set_read_timeout(Some(BRIEFLY)).unwrap();
            asks
        };
        let pod = from(&client, "10.96.0.7:80");
        let world = from(&scene.world, "192.0.2.1:30080");
        // Speaks before the Service is there: the kernel remembers that it is led nowhere.
        pod.send(b"?").unwrap();
        world.send(b"?").unwrap();
        scene.service("dns", "10.96.0.7", |spec| {
            node_port(spec);
            spec["ports"][0]["protocol"] = json!("UDP");
        });
        for (case, pods, expected) in [
            ("the first endpoint", &[(2, "here")][..], Some(0)),
            ("another one", &[(3, "here")][..], Some(1)),
            ("none", &[][..], None),
            ("one again", &[(2, "here")][..], Some(0)),
        ] {
            scene.endpoints_of("dns", "UDP", pods);
            for (who, asks) in [("a pod", &pod), ("the world", &world)] {
                eventually(&format!("{who} reaches {case}"), || {
                    (ask(asks, &answers) == expected).then_some(())
                });
            }
        }
    });
}

/// As of a node that was unplugged: the call is under way to an endpoint that says nothing, and another one takes its place.
#[test]
fn a_call_that_nobody_answers_follows_its_service() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (silent, other, client) = (scene.pod(2), scene.pod(3), scene.pod(4));
        // It hears, and does not know the way back.
        silent.inside(|| ip("route del default"));
        let servers = [other.listen("0.0.0.0:8080")];
        scene.service("web", "10.96.0.7", |_| ());
        scene.endpoints("web", &[(2, "here")]);
        scene.settled();
        std::thread::scope(|scope| {
            let call = scope.spawn(|| client.call("10.96.0.7:80"));
            eventually("the call is under way", || {
                let sockets = client.inside(|| std::fs::read_to_string("/proc/thread-self/net/tcp")).unwrap();
                sockets.contains(" 0700600A:0050 02 ").then_some(())
            });
            scene.endpoints("web", &[(3, "here")]);
            call.join().unwrap().unwrap();
        });
        assert_eq!(accepted(&servers).0, 0);
    });
}

#[test]
fn sctp_is_led_there_and_back() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, client) = (scene.pod(2), scene.pod(4));
        scene.service("calls", "10.96.0.7", |spec| {
            node_port(spec);
            spec["ports"][0]["protocol"] = json!("SCTP");
        });
        scene.endpoints_of("calls", "SCTP", &[(2, "here")]);
        scene.settled();
        let server = one.inside(sctp::Line::open);
        for (case, from, to, seen) in [
            ("a pod", &client, "10.96.0.7:80", "10.7.1.4"),
            ("the node", &scene.node, "10.96.0.7:80", "10.7.1.1"),
            ("the world", &scene.world, "10.96.0.7:80", "10.7.1.1"),
            ("the world, at the node's port", &scene.world, "192.0.2.1:30080", "10.7.1.1"),
            ("a pod, at the node's port", &client, "192.0.2.1:30080", "10.7.1.1"),
        ] {
            let (caller, to) = (from.inside(sctp::Line::open), to.parse::<SocketAddrV4>().unwrap());
            caller.call(40_000 + to.port() % 1000, to);
            let heard = eventually(&format!("{case} is heard"), || server.hear());
            assert_eq!(
                (heard.to.to_string(), heard.from.ip().to_string()),
                ("10.7.1.2:8080".into(), seen.into()),
                "{case}"
            );
            server.answer(&heard);
            let back = eventually(&format!("{case} is answered"), || caller.hear());
            assert_eq!((back.from, back.is_answer), (to, true), "{case}");
        }
    });
}

#[test]
fn the_api_at_the_nodes_own_loop_is_reached() {
    on_a_thread(|| {
        let scene = Scene::new();
        let client = scene.pod(4);
        let servers = [scene.node.listen("127.0.0.1:8080")];
        scene.service("kubernetes", "10.96.0.1", NOTHING);
        scene.endpoints_at("kubernetes", "IPv4", &["127.0.0.1"]);
        scene.reaches(&client, "10.96.0.1:80", &servers);
        let _call = scene.node.call("10.96.0.1:80").unwrap();
        accepted(&servers);
    });
}

#[test]
fn both_families() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (one, client) = (scene.pod(2), scene.pod(4));
        scene.service("web", "10.96.0.7", |spec| {
            node_port(spec);
            spec["clusterIPs"] = json!(["10.96.0.7", "fd96::7"]);
            spec["sessionAffinity"] = json!("ClientIP");
        });
        scene.endpoints("web", &[(2, "here")]);
        scene.endpoints_at("web", "IPv6", &["fd07::2"]);
        let servers = [one.listen("[::]:8080")];
        scene.reaches(&client, "[fd96::7]:80", &servers);
        for (case, from, to, seen) in [
            ("a pod", &client, "[fd96::7]:80", "fd07::4"),
            ("the node", &scene.node, "[fd96::7]:80", "fd07::1"),
            ("itself", &one, "[fd96::7]:80", "fd07::1"),
            ("the world", &scene.world, "[2001:db8::1]:30080", "fd07::1"),
            ("in the other family", &client, "10.96.0.7:80", "::ffff:10.7.1.4"),
        ] {
            let mut call = from.call(to).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(accepted(&servers).1.ip().to_string(), seen, "{case}");
            call.write_all(b"?").unwrap();
        }
        let none = scene.pod(5);
        scene.service("none", "10.96.0.8", |spec| spec["clusterIPs"] = json!(["fd96::8"]));
        eventually("refused", || {
            let error = none.call_briefly("[fd96::8]:80").err()?;
            (error.kind() == ErrorKind::ConnectionRefused).then_some(())
        });
    });
}

#[test]
fn what_others_do_to_our_table_is_made_good() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        let (one, client) = (scene.pod(2), scene.pod(4));
        scene.service("web", "10.96.0.7", NOTHING);
        scene.endpoints("web", &[(2, "here")]);
        let servers = [one.listen("0.0.0.0:8080")];
        scene.reaches(&client, "10.96.0.7:80", &servers);
        let mut socket = Socket::netfilter().unwrap();
        socket
            .apply(Batch::of("another").table().chain("kept").set(
                "numbers",
                &[kedge_netlink::nft::Column::V4],
                &[],
            ))
            .unwrap();
        let another =
            |socket: &mut Socket| (socket.chains("another").unwrap(), socket.sets("another").unwrap());
        let before = another(&mut socket);

        // While we run, the next change meets it; after a new start, reading does.
        let ends = socket.elements(TABLE, "front-ends4").unwrap();
        for (case, restarts) in [("while it runs", false), ("while it does not", true)] {
            for (what, done) in [
                ("an entry less", {
                    let mut batch = Batch::of(TABLE);
                    batch.without_elements("front-ends4", &ends);
                    batch
                }),
                ("no table", {
                    let mut batch = Batch::of(TABLE);
                    batch.without_table();
                    batch
                }),
            ] {
                let mut done = done;
                socket.apply(&mut done).unwrap();
                assert!(client.call_briefly("10.96.0.7:80").is_err(), "{what}");
                match restarts {
                    true => scene.restart(),
                    // Something else changes, and comes upon it.
                    false => scene.endpoints("web", &[]),
                }
                scene.settled();
                scene.endpoints("web", &[(2, "here")]);
                scene.reaches(&client, "10.96.0.7:80", &servers);
                assert_eq!(socket.elements(TABLE, "front-ends4").unwrap(), ends, "{case}, {what}");
            }
        }
        assert_eq!(another(&mut socket), before);
        kedge_proxy::remove(TABLE).unwrap();
        kedge_proxy::remove(TABLE).unwrap();
        assert_eq!(socket.chains(TABLE).unwrap(), []);
        assert_eq!(another(&mut socket), before);
    });
}

#[test]
fn nobody_notices_a_new_start() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        let (one, two, client) = (scene.pod(2), scene.pod(3), scene.pod(4));
        scene.service("web", "10.96.0.7", node_port);
        scene.endpoints("web", &[(2, "here"), (3, "here")]);
        let servers = [one.listen("0.0.0.0:8080"), two.listen("0.0.0.0:8080")];
        scene.reaches(&client, "10.96.0.7:80", &servers);
        let mut open = client.call("10.96.0.7:80").unwrap();
        let (_, mut taken) = taken(&servers);
        let mut socket = Socket::netfilter().unwrap();
        let entries = |socket: &mut Socket| {
            ["front-ends4", "front4", "node-ends4", "node4"].map(|set| {
                let mut elements = socket.elements(TABLE, set).unwrap();
                elements.sort();
                elements
            })
        };
        let before = entries(&mut socket);
        for _ in 0..3 {
            scene.stop();
            for _ in 0..10 {
                let _call = client.call("10.96.0.7:80").unwrap();
                accepted(&servers);
            }
            scene.start();
            for _ in 0..20 {
                let _call = scene.world.call("192.0.2.1:30080").unwrap();
                accepted(&servers);
            }
        }
        scene.settled();
        assert_eq!(entries(&mut socket), before, "not a slot changed hands");
        open.write_all(b"?").unwrap();
        let mut heard = [0; 1];
        taken.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"?");
    });
}

#[test]
fn whoever_looks_after_the_machine_can_look_at_it() {
    on_a_thread(|| {
        let scene = Scene::new();
        let (pod, client) = (scene.pod(2), scene.pod(4));
        scene.service("web", "10.96.0.7", |spec: &mut Value| {
            node_port(spec);
            spec["externalTrafficPolicy"] = json!("Local");
            spec["sessionAffinity"] = json!("ClientIP");
        });
        scene.service("plain", "10.96.0.8", node_port);
        scene.endpoints("web", &[(2, "here")]);
        scene.endpoints("plain", &[(2, "here")]);
        let servers = [pod.listen("0.0.0.0:8080")];
        scene.reaches(&client, "10.96.0.7:80", &servers);
        let shown = scene.node.inside(|| {
            let output = std::process::Command::new("nft").args(["list", "ruleset"]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        });
        assert!(shown.contains(TABLE) && shown.contains("10.96.0.7"), "{shown}");
    });
}
