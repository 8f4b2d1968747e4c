//! Pods on the network of their node: each has an address, reaches the others, is reached by the node's ports, and leaves nothing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;

use super::machine::{FOR_EVER, Machine, NODE, shell};
use crate::cluster::{assert_has, eventually};

const SERVE: &str =
    "mkdir /tmp/www; echo hello from the pod > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";

pub(super) fn reached(machine: &Machine) {
    let port = free_port();
    let mut container = shell("main", SERVE);
    container["ports"] = json!([{"containerPort": 8080, "hostPort": port, "hostIP": "127.0.0.1"}]);
    container["readinessProbe"] = json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1});
    machine.pod("web", json!({"containers": [container]}));
    machine.running("caller", FOR_EVER);
    machine.ready("web");

    let field =
        |path: &str| machine.kubectl(["get", "pod", "web", "--output", &format!("jsonpath={{{path}}}")]);
    let address = field(".status.podIP");
    let range = machine.kubectl(["get", "node", NODE, "--output=jsonpath={.spec.podCIDR}"]);
    let start = range.rsplit_once('.').map_or("", |(start, _)| start);
    assert!(address.starts_with(start), "{address} is not of {range}");
    assert_eq!(field(".status.podIPs[0].ip"), address);
    assert!(!field(".status.hostIPs[0].ip").is_empty());
    assert_has(&machine.kubectl(["get", "pods", "--output=wide"]), &[&address]);

    let call =
        |pod: &str, url: &str| machine.kubectl(["exec", pod, "--", "busybox", "wget", "-q", "-O-", url]);
    assert_eq!(call("caller", &format!("http://{address}:8080/")), "hello from the pod\n");
    for at in [format!("{address}:8080"), format!("127.0.0.1:{port}")] {
        let mut connection = TcpStream::connect(&at).unwrap_or_else(|error| panic!("{at}: {error}"));
        connection.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert_has(&answer, &["hello from the pod"]);
    }

    machine.kubectl(["delete", "pods", "web", "caller", "--grace-period=1", "--timeout=30s"]);
    let addresses = machine.data().join("network/addresses");
    eventually("no address is taken", || {
        let left = std::fs::read_dir(&addresses).unwrap().count();
        if left == 0 { Ok(()) } else { Err(format!("{left} are")) }
    });
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the port of the node still leads somewhere");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
