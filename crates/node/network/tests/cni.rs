//! The plugin as a runtime uses it: many processes at once, some of them killed, and what it says and does of limits and checks.
//! With a real kernel; needs root and `ip`.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong, and make namespaces"
)]

#[path = "scene/place.rs"]
mod place;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use kedge_netlink::Socket;
use kedge_network::cni::{Outcome, answer};
use kedge_network::{Network, prepare, reap};
use serde_json::{Value, json};

use place::{Place, ip, on_a_thread};

const CALL: &str = "KEDGE_TEST_CNI_CALL";

struct Scene {
    data: tempfile::TempDir,
    network: Network,
    _node: Place,
}

impl Scene {
    fn new(ranges: &[&str]) -> Self {
        let (data, node) = (tempfile::tempdir().unwrap(), Place::enter_new());
        ip("link set lo up");
        let ranges = ranges.iter().map(|range| range.parse().unwrap()).collect();
        let network = Network::new(data.path(), "n", 1500, ranges, vec!["10.7.0.0/16".parse().unwrap()]);
        prepare(&network).unwrap();
        Self { data, network, _node: node }
    }

    fn config(&self, more: &Value) -> Value {
        let list: Value = serde_json::from_str(&self.network.config("kedge")).unwrap();
        let mut config = list["plugins"][0].clone();
        config["cniVersion"] = json!("1.1.0");
        for (key, value) in more.as_object().unwrap() {
            config[key] = value.clone();
        }
        config
    }

    fn ask(&self, command: &str, name: &str, pod: &Place, more: &Value) -> Outcome {
        let path = pod.path().to_str().unwrap().to_owned();
        let variable = |variable: &str| match variable {
            "CNI_COMMAND" => Some(command.to_owned()),
            "CNI_CONTAINERID" => Some(name.to_owned()),
            "CNI_IFNAME" => Some("eth0".to_owned()),
            "CNI_NETNS" => Some(path.clone()),
            _ => None,
        };
        answer("kedge", variable, self.config(more).to_string().as_bytes())
    }

    fn add(&self, name: &str, pod: &Place, more: &Value) -> Value {
        let outcome = self.ask("ADD", name, pod, more);
        assert!(outcome.is_done, "{}", outcome.text);
        serde_json::from_str(&outcome.text).unwrap()
    }

    /// A process of its own, as runtimes start it.
    fn start(&self, name: &str, pod: &Place) -> (Child, PathBuf) {
        let call = self.data.path().join(format!("call-{name}"));
        fs::write(&call, self.config(&json!({})).to_string()).unwrap();
        let told = call.with_extension("told");
        let started = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "plugin", "--nocapture", "--test-threads=1"])
            .env(CALL, &call)
            .env("CNI_COMMAND", "ADD")
            .env("CNI_CONTAINERID", name)
            .env("CNI_IFNAME", "eth0")
            .env("CNI_NETNS", pod.path())
            .stdout(Stdio::null())
            .spawn();
        (started.unwrap(), told)
    }

    /// Who has which address, as it is written down.
    fn reserved(&self) -> Vec<(String, String)> {
        let names = fs::read_dir(self.data.path().join("network/addresses")).unwrap();
        let read = |path: &Path| fs::read_link(path).unwrap().to_str().unwrap().to_owned();
        let mut all: Vec<_> = names
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.file_name().into_string().unwrap(), read(&entry.path())))
            .collect();
        all.sort();
        all
    }
}

/// No test: what the processes do that another test starts.
#[test]
fn plugin() {
    let Some(call) = std::env::var_os(CALL).map(PathBuf::from) else { return };
    let outcome = answer("kedge", |name| std::env::var(name).ok(), &fs::read(&call).unwrap());
    fs::write(call.with_extension("told"), format!("{}{}", i32::from(outcome.is_done), outcome.text))
        .unwrap();
}

fn addresses_of(told: &Path) -> Vec<String> {
    let text = fs::read_to_string(told).unwrap();
    assert!(text.starts_with('1'), "{text}");
    let told: Value = serde_json::from_str(&text[1..]).unwrap();
    told["ips"].as_array().unwrap().iter().map(|ip| ip["address"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nobody_gets_what_another_has() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24", "fd07:1::/64"]);
        let pods: Vec<Place> = (0..50).map(|_| Place::new()).collect();
        let name = |at: usize| format!("pod{at}");
        let mut started: Vec<_> =
            pods.iter().enumerate().map(|(at, pod)| scene.start(&name(at), pod)).collect();
        for (child, _) in &mut started {
            assert!(child.wait().unwrap().success());
        }
        let given: Vec<String> = started.iter().flat_map(|(_, told)| addresses_of(told)).collect();
        assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), 100, "one of each family for each");

        // Again, as a runtime does that was killed itself: some of the calls die at any moment.
        let mut started = Vec::new();
        for (at, pod) in pods.iter().enumerate() {
            started.push(scene.start(&name(at), pod));
            if at % 3 == 2 {
                started[at - 2].0.kill().unwrap();
                started[at - 1].0.kill().unwrap();
            }
        }
        let mut killed = 0;
        for (child, _) in &mut started {
            killed += usize::from(!child.wait().unwrap().success());
        }
        assert!(killed > 0);
        // Whoever was told that he has an address has it alone; who died is asked for again.
        let mut all = BTreeSet::new();
        for (at, pod) in pods.iter().enumerate() {
            let told = scene.add(&name(at), pod, &json!({}));
            for ip in told["ips"].as_array().unwrap() {
                assert!(all.insert(ip["address"].as_str().unwrap().to_owned()), "{ip} was given twice");
            }
        }
        reap(&scene.network).unwrap();
        let reserved = scene.reserved();
        assert_eq!(reserved.len(), 100, "nothing is lost: {reserved:?}");
        let mut socket = Socket::route().unwrap();
        let (bridge, links) = (socket.link(&scene.network.bridge).unwrap(), socket.links().unwrap());
        let wires = links.iter().filter(|link| link.group == bridge.group && link.index != bridge.index);
        assert_eq!(wires.count(), 50);

        // Only two of them are still known.
        let known = json!({"cni.dev/valid-attachments": [
            {"containerID": "pod3", "ifname": "eth0"}, {"containerID": "pod4", "ifname": "eth0"},
        ]});
        let outcome = scene.ask("GC", "x", &pods[0], &known);
        assert!(outcome.is_done, "{}", outcome.text);
        let left: BTreeSet<String> = scene.reserved().into_iter().map(|(_, owner)| owner).collect();
        assert_eq!(left.into_iter().collect::<Vec<_>>(), ["pod3@eth0", "pod4@eth0"]);
        assert!(scene.ask("CHECK", "pod3", &pods[3], &json!({})).is_done);
    });
}

#[test]
fn checks_see_what_is_missing() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24", "fd07:1::/64"]);
        let limits =
            json!({"runtimeConfig": {"bandwidth": {"ingressRate": 8_000_000, "egressRate": 8_000_000}}});
        let bridge = scene.network.bridge.clone();
        let wire = |told: &Value| told["interfaces"][1]["name"].as_str().unwrap().to_owned();
        type Damage = fn(&Place, &str, &str);
        let damages: [(&str, Damage); 9] = [
            ("10.7.1.", |pod, _, _| pod.inside(|| ip("-4 addr flush dev eth0"))),
            ("fd07:1::", |pod, _, _| pod.inside(|| ip("-6 addr flush dev eth0 scope global"))),
            ("way out", |pod, _, _| pod.inside(|| ip("route del default"))),
            ("switched on", |pod, _, _| pod.inside(|| ip("link set eth0 down"))),
            ("no eth0", |pod, _, _| pod.inside(|| ip("link set eth0 down name other"))),
            ("some bridge", |_, wire, bridge| ip(&format!("link set {wire} master {bridge}"))),
            ("not the way", |_, wire, _| ip(&format!("route flush dev {wire} proto 107"))),
            ("no veth", |_, wire, _| ip(&format!("link del {wire}"))),
            ("10.7.1.1", |_, _, bridge| ip(&format!("addr del 10.7.1.1/24 dev {bridge}"))),
        ];
        for (at, (lost, damage)) in damages.into_iter().enumerate() {
            let (pod, name) = (Place::new(), format!("pod{at}"));
            let told = scene.add(&name, &pod, &limits);
            let before = json!({"prevResult": told});
            let fine = scene.ask("CHECK", &name, &pod, &before);
            assert!(fine.is_done, "{lost}: {}", fine.text);
            damage(&pod, &wire(&told), &bridge);
            let outcome = scene.ask("CHECK", &name, &pod, &before);
            assert!(!outcome.is_done && outcome.text.contains(lost), "{lost}: {}", outcome.text);
            let gone = scene.ask("DEL", &name, &pod, &before);
            assert!(gone.is_done, "{lost}: {}", gone.text);
            prepare(&scene.network).unwrap();
        }
        let pod = Place::new();
        scene.add("last", &pod, &json!({}));
        let other = json!({"prevResult": {"ips": [{"address": "10.7.1.250/32"}]}});
        let outcome = scene.ask("CHECK", "last", &pod, &other);
        assert!(outcome.text.contains("10.7.1.250"), "{}", outcome.text);
        assert!(scene.ask("STATUS", "last", &pod, &json!({})).is_done);
        let broken = json!({"records": "/proc/no/such/folder"});
        let outcome = scene.ask("STATUS", "last", &pod, &broken);
        assert!(!outcome.is_done && outcome.text.contains("\"code\":50"), "{}", outcome.text);
    });
}

#[test]
fn limits_are_kept() {
    on_a_thread(|| {
        let scene = Scene::new(&["10.7.1.0/24"]);
        let (free, slow) = (Place::new(), Place::new());
        scene.add("free", &free, &json!({}));
        // As containerd writes it, with a burst that would be no limit at all.
        let limits = json!({"runtimeConfig": {"bandwidth": {
            "IngressRate": 8_000_000, "IngressBurst": u32::MAX, "EgressRate": 8_000_000, "EgressBurst": u32::MAX,
        }}});
        scene.add("slow", &slow, &limits);
        let carry = |from: &Place, to: &Place, at: &str| {
            let server = to.listen(at);
            let mut says = from.call(at).unwrap();
            let (mut hears, _) = server.accept().unwrap();
            let begun = Instant::now();
            let reader = std::thread::spawn(move || hears.read_to_end(&mut Vec::new()).unwrap());
            says.write_all(&vec![7; 700_000]).unwrap();
            drop(says);
            assert_eq!(reader.join().unwrap(), 700_000);
            begun.elapsed().as_secs_f64()
        };
        // A million bytes a second, of which 100,000 may go at once.
        for (case, took) in [
            ("to the limited", carry(&free, &slow, "10.7.1.3:80")),
            ("from the limited", carry(&slow, &free, "10.7.1.2:80")),
        ] {
            assert!((0.3..5.0).contains(&took), "{case}: {took} s");
        }
        let mut config = json!({"runtimeConfig": {"bandwidth": {"ingressRate": 5}}});
        let outcome = scene.ask("ADD", "odd", &Place::new(), &config);
        assert!(!outcome.is_done && outcome.text.contains("\"code\":7"), "{}", outcome.text);
        config["runtimeConfig"]["bandwidth"] = json!({});
        scene.add("odd", &Place::new(), &config);
    });
}
