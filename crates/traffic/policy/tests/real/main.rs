//! Policies with a real kernel: a node, its pods and the world beyond are network namespaces, and what may talk does. Needs root
//! and `ip`.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong, and make namespaces"
)]

mod place;
mod scene;
#[path = "../../../proxy/tests/real/sctp.rs"]
mod sctp;
mod task;

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Instant;

use kedge_netlink::Socket;
use kedge_netlink::nft::{Batch, Rule};
use kedge_policy::{Rules, Wanted, remove};
use place::{PATIENCE, on_a_thread};
use scene::{Kind, NODE, Probe, Scene, TABLE, WORLD, policy};
use serde_json::{Value, json};

fn pod(name: &str) -> Value {
    json!({"matchLabels": {"pod": name}})
}

#[test]
fn who_reaches_whom() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        scene.check("no policy", |_| true);
        assert!(!scene.has_table(), "nobody pays for what nobody asked for");

        scene.enforce(vec![policy("x", json!({"podSelector": {}}))]);
        scene.check("nobody comes in, but the node itself", |p| p.to.ns != "x" || p.from.name == NODE);

        scene.enforce(vec![policy("x", json!({"podSelector": {}, "policyTypes": ["Egress"]}))]);
        scene.check("nobody goes out, but to the node itself", |p| p.from.ns != "x" || p.to.name == NODE);

        let from_b = json!([{"from": [{"podSelector": pod("b")}], "ports": [{"port": 80}]}]);
        scene.enforce(vec![policy("x", json!({"podSelector": pod("a"), "ingress": from_b}))]);
        scene.check("one pod by one door", |p| {
            p.to.name != "a"
                || p.from.name == NODE
                || (p.from.name == "b" && p.kind == Kind::Tcp && p.port == 80)
        });

        let of_y = json!([{"from": [{"namespaceSelector": {"matchLabels": {"ns": "y"}}}],
            "ports": [{"port": 81}, {"port": 79, "endPort": 80, "protocol": "UDP"}]}]);
        scene.enforce(vec![policy("x", json!({"podSelector": {}, "ingress": of_y}))]);
        scene.check("a namespace by a list of doors", |p| {
            let by = matches!((p.kind, p.port), (Kind::Tcp, 81) | (Kind::Udp, 80));
            p.to.ns != "x" || p.from.name == NODE || (p.from.ns == "y" && by)
        });

        let named = json!([{"to": [{"podSelector": {}}], "ports": [{"port": "web"}]}]);
        scene.enforce(vec![policy(
            "x",
            json!({"podSelector": pod("b"), "policyTypes": ["Egress"], "egress": named}),
        )]);
        scene.check("a door by its name, which is 80 of one pod and 81 of the other", |p| {
            let web = p.kind == Kind::Tcp && matches!((p.to.name, p.port), ("a", 80) | ("c", 81));
            p.from.name != "b" || p.to.name == NODE || web
        });

        scene.enforce(vec![]);
        scene.check("no policy any more", |_| true);
        assert!(!scene.has_table());
    });
}

#[test]
fn sctp_is_judged_as_the_others_are() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        let from_b =
            json!([{"from": [{"podSelector": pod("b")}], "ports": [{"port": 7777, "protocol": "SCTP"}]}]);
        scene.enforce(vec![policy("x", json!({"podSelector": pod("a"), "ingress": from_b}))]);
        let server = scene.place("a").inside(sctp::Line::open);
        let call = |from: &str, port: u16| {
            let line = scene.place(from).inside(sctp::Line::open);
            line.call(40_000, SocketAddrV4::new([10, 7, 1, 2].into(), port));
            line
        };
        // What comes first of all is the one that may come: the others were sent before it.
        call("c", 7777);
        call("d", 7777);
        call("b", 7778);
        let caller = call("b", 7777);
        let next = |line: &sctp::Line, what: &str| {
            let begin = Instant::now();
            loop {
                if let Some(heard) = line.hear() {
                    return heard;
                }
                assert!(begin.elapsed() < PATIENCE, "still untrue: {what}");
                std::thread::yield_now();
            }
        };
        let heard = next(&server, "the one that may call is heard");
        assert_eq!((heard.from.to_string(), heard.to.port()), ("10.7.1.3:40000".to_owned(), 7777));
        server.answer(&heard);
        assert!(next(&caller, "it is answered").is_answer);
        assert_eq!(server.hear(), None);
    });
}

#[test]
fn ranges_of_addresses() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        let out = |to: Value| {
            policy("x", json!({"podSelector": pod("a"), "policyTypes": ["Egress"], "egress": [{"to": to}]}))
        };
        let in_family = |p: Probe, v4: bool| p.is_v4 == v4;
        let cluster = json!([{"ipBlock": {"cidr": "10.7.0.0/16", "except": ["10.7.1.3/32", "10.7.1.9/32"]}}]);
        scene.enforce(vec![out(cluster)]);
        scene.check("a range without two of it, of one family", |p| {
            let inside = in_family(p, true) && matches!(p.to.name, "c" | "d");
            p.from.name != "a" || p.to.name == NODE || inside
        });
        let both = json!([{"ipBlock": {"cidr": "192.0.2.0/24"}}, {"ipBlock": {"cidr": "fd07:1::3/128"}}]);
        scene.enforce(vec![out(both)]);
        scene.check("the world, and one pod by the other family", |p| {
            let allowed = match p.is_v4 {
                true => p.to.name == WORLD,
                false => p.to.name == "b",
            };
            p.from.name != "a" || p.to.name == NODE || allowed
        });
        // Named by their addresses, all of a family are more than all pods.
        scene.enforce(vec![out(json!([{"ipBlock": {"cidr": "0.0.0.0/0"}}, {"ipBlock": {"cidr": "::/0"}}]))]);
        scene.check("all there are", |_| true);
    });
}

#[test]
fn what_goes_on_goes_on() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        // As on every node, something else has the kernel remember flows long before the first policy.
        scene.make_service("10.96.0.1", "10.7.1.2");
        let server = scene.place("a").listen("10.7.1.2:7000");
        let mut client = scene.place("b").call("10.7.1.2:7000").unwrap();
        let (mut served, _) = server.accept().unwrap();
        let talk = |from: &mut TcpStream, to: &mut TcpStream| {
            from.write_all(b"?").unwrap();
            to.set_read_timeout(Some(PATIENCE)).unwrap();
            to.read_exact(&mut [0]).unwrap();
        };
        talk(&mut client, &mut served);
        scene.enforce(vec![policy("x", json!({"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}))]);
        talk(&mut client, &mut served);
        talk(&mut served, &mut client);
        assert!(scene.place("b").call("10.7.1.2:7000").is_err(), "but nothing new begins");
    });
}

#[test]
fn services_are_judged_by_who_is_behind_them() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        // 10.96.0.1 leads to a, and whoever calls himself by it hears the node answer.
        scene.make_service("10.96.0.1", "10.7.1.2");
        let reaches = |scene: &Scene, from: &str| scene.place(from).call("10.96.0.1:80").is_ok();
        assert!(reaches(&scene, "b"));
        let from_b = |name: &str| {
            policy("x", json!({"podSelector": pod("a"), "ingress": [{"from": [{"podSelector": pod(name)}]}]}))
        };
        scene.enforce(vec![from_b("b")]);
        assert_eq!(["a", "b", "c", NODE].map(|from| reaches(&scene, from)), [true, true, false, true]);
        scene.enforce(vec![policy(
            "x",
            json!({"podSelector": pod("a"), "policyTypes": ["Ingress", "Egress"]}),
        )]);
        assert!(reaches(&scene, "a"), "nobody is kept from himself");
        // Where a packet goes counts, not what it is called.
        let to = |cidr: &str| {
            let egress = json!([{"to": [{"ipBlock": {"cidr": cidr}}]}]);
            policy("x", json!({"podSelector": pod("c"), "policyTypes": ["Egress"], "egress": egress}))
        };
        scene.enforce(vec![to("10.96.0.0/16")]);
        assert!(!reaches(&scene, "c"));
        scene.enforce(vec![to("10.7.1.2/32")]);
        assert!(reaches(&scene, "c"));
    });
}

#[test]
fn what_others_did_to_the_table_is_mended() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        let deny = || {
            policy(
                "x",
                json!({"podSelector": {}, "ingress": [{"from": [{"podSelector": {}}], "ports": [{"port": 80}, {"port": 90}]}]}),
            )
        };
        scene.enforce(vec![deny()]);
        let wanted = scene.wanted();
        assert!(Rules::new(TABLE).are_in_force(&wanted).unwrap());
        assert!(!Rules::new(TABLE).are_in_force(&Wanted::default()).unwrap());

        type Harm = fn(&mut Batch) -> &mut Batch;
        let harms: [(&str, Harm); 4] = [
            ("a chain more", |batch| batch.chain("mine")),
            ("a rule more", |batch| batch.rule("through", &Rule::new().accept())),
            ("a pod less", |batch| batch.without_element("into4", &[10, 7, 1, 2])),
            ("all gone", |batch| batch.without_table()),
        ];
        for (case, harm) in harms {
            let mut batch = Batch::of(TABLE);
            harm(&mut batch);
            Socket::netfilter().unwrap().apply(&mut batch).unwrap();
            assert!(!Rules::new(TABLE).are_in_force(&wanted).unwrap(), "{case}");
            scene.start_again();
            scene.enforce(vec![deny()]);
            assert!(Rules::new(TABLE).are_in_force(&wanted).unwrap(), "{case}");
        }
        // Without a new start it is found by the next change that no longer fits.
        remove(TABLE).unwrap();
        scene.enforce(vec![policy("x", json!({"podSelector": pod("a")}))]);
        assert!(Rules::new(TABLE).are_in_force(&scene.wanted()).unwrap());
        scene.check("after all", |p| p.to.name != "a" || p.from.name == NODE);
        remove(TABLE).unwrap();
        remove(TABLE).unwrap();
        assert!(!scene.has_table());
    });
}

#[test]
fn a_thousand_peers_come_and_go() {
    on_a_thread(|| {
        let mut scene = Scene::new();
        let from_all =
            policy("x", json!({"podSelector": {}, "ingress": [{"from": [{"namespaceSelector": {}}]}]}));
        scene.enforce(vec![from_all.clone()]);
        scene.crowd(1_000);
        scene.enforce(vec![from_all.clone()]);
        assert!(Rules::new(TABLE).are_in_force(&scene.wanted()).unwrap());
        scene.crowd(10);
        scene.enforce(vec![from_all]);
        assert!(Rules::new(TABLE).are_in_force(&scene.wanted()).unwrap());
    });
}
