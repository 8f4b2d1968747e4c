//! Names, as a pod looks them up: a Service's as soon as it is there, hosts behind a headless one, short ones, and those of others.

use std::net::{Ipv4Addr, UdpSocket};

use serde_json::json;

use super::machine::{FOR_EVER, Machine, shell};
use crate::cluster::{assert_has, eventually};

/// A domain that a server of ours knows, and the one address that it has for everything.
const DOMAIN: &str = "kedge.test";
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 80);

/// Starts that server, and says how the cluster's DNS is told of it.
pub(super) fn other() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&answer(&buffer[..length]), from);
        }
    });
    format!("{DOMAIN}={at}")
}

/// The question, and the address if it asks for one.
fn answer(query: &[u8]) -> Vec<u8> {
    let end = 12 + query[12..].iter().position(|octet| *octet == 0).unwrap() + 5;
    let asks = query[end - 4..end] == [0, 1, 0, 1];
    let mut octets =
        [&query[..2], &[0x81, 0x80, 0, 1, 0, u8::from(asks), 0, 0, 0, 0], &query[12..end]].concat();
    if asks {
        octets.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        octets.extend(ADDRESS.octets());
    }
    octets
}

pub(super) fn looked_up(machine: &Machine) {
    machine.running("asker", FOR_EVER);
    let nslookup = |name: &str| {
        let command = ["exec", "asker", "--", "busybox", "nslookup", "-type=a", name];
        let output = machine.command(command).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let resolver = machine.kubectl(["exec", "asker", "--", "cat", "/etc/resolv.conf"]);
    let server = machine.kubectl([
        "get",
        "service",
        "kube-dns",
        "--namespace=kube-system",
        "--output=jsonpath={.spec.clusterIP}",
    ]);
    assert!(server.ends_with(".0.10"), "{server}");
    assert_has(
        &resolver,
        &[
            &format!("nameserver {server}"),
            "search walk.svc.cluster.local svc.cluster.local cluster.local",
            "ndots:5",
        ],
    );

    // The first look-up after it was made finds it.
    machine.kubectl(["create", "service", "clusterip", "shop", "--tcp=80:8080"]);
    let address = machine.kubectl(["get", "service", "shop", "--output=jsonpath={.spec.clusterIP}"]);
    assert_has(&nslookup("shop.walk.svc.cluster.local"), &[&address]);
    let first = machine.kubectl([
        "get",
        "service",
        "kubernetes",
        "--namespace=default",
        "--output=jsonpath={.spec.clusterIP}",
    ]);
    assert_has(&nslookup("kubernetes.default.svc.cluster.local"), &[&first]);
    assert_has(&nslookup("nothing.walk.svc.cluster.local"), &["NXDOMAIN"]);
    let back = machine.kubectl(["exec", "asker", "--", "busybox", "nslookup", &address]);
    assert_has(&back, &["shop.walk.svc.cluster.local"]);

    // A host with a name of its own, called by a short one.
    machine.kubectl(["create", "service", "clusterip", "db", "--clusterip=None", "--tcp=8080"]);
    machine.kubectl(["patch", "service", "db", "--patch", r#"{"spec": {"selector": {"app": "db-0"}}}"#]);
    let serve = "mkdir /tmp/www; echo hello by name > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";
    let container = shell("main", serve);
    machine.pod("db-0", json!({"hostname": "db-0", "subdomain": "db", "containers": [container]}));
    machine.ready("db-0");
    let pod = machine.kubectl(["get", "pod", "db-0", "--output=jsonpath={.status.podIP}"]);
    for name in ["db.walk.svc.cluster.local", "db-0.db.walk.svc.cluster.local"] {
        eventually(&format!("{name} leads to the pod"), || {
            let told = nslookup(name);
            if told.contains(&pod) { Ok(()) } else { Err(told) }
        });
    }
    for name in ["db", "db-0.db", "db.walk"] {
        let url = format!("http://{name}:8080/");
        let told = machine.kubectl(["exec", "asker", "--", "busybox", "wget", "-q", "-O-", &url]);
        assert_eq!(told, "hello by name\n", "{name}");
    }

    // Others' names.
    assert_has(&nslookup(&format!("anything.{DOMAIN}")), &[&ADDRESS.to_string()]);
    machine.kubectl(["delete", "service", "shop", "db"]);
    eventually("a Service's name goes with it", || {
        let told = nslookup("shop.walk.svc.cluster.local");
        if told.contains("NXDOMAIN") { Ok(()) } else { Err(told) }
    });
}
