//! `kubectl port-forward`, and what is reached through the API server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::json;

use super::machine::{Machine, NODE, shell};
use crate::cluster::{assert_has, eventually};

const SERVE: &str =
    "mkdir /tmp/www; echo hello from the pod > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";

fn web(machine: &Machine) {
    let mut container = shell("main", SERVE);
    container["ports"] = json!([{"containerPort": 8080}]);
    container["readinessProbe"] = json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1});
    machine.pod("web", json!({"containers": [container]}));
    machine.ready("web");
}

pub(super) fn forwarded(machine: &Machine) {
    web(machine);
    let mut forward =
        machine.command(["port-forward", "pod/web", ":8080"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(forward.stdout.take().unwrap()).lines();
    let told = lines.next().unwrap().unwrap();
    let port: u16 =
        told.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap();
    // Several at once, each a stream of its own.
    let mut connections: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    for connection in &mut connections {
        connection.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    }
    for connection in &mut connections {
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert_has(&answer, &["200 OK", "hello from the pod"]);
    }
    forward.kill().unwrap();
    forward.wait().unwrap();
}

pub(super) fn through_the_api(machine: &Machine) {
    web(machine);
    let raw = |path: &str| machine.kubectl(["get", "--raw", path]);
    assert_eq!(raw("/api/v1/namespaces/walk/pods/web:8080/proxy/index.html"), "hello from the pod\n");
    assert_eq!(raw("/api/v1/namespaces/walk/pods/web/proxy/"), "hello from the pod\n");
    machine.kubectl(["expose", "pod", "web", "--port=80", "--target-port=8080"]);
    eventually("the service answers", || {
        let output = machine
            .command(["get", "--raw", "/api/v1/namespaces/walk/services/web:80/proxy/"])
            .output()
            .unwrap();
        let told = crate::cluster::text(&output.stdout);
        if told == "hello from the pod\n" { Ok(()) } else { Err(crate::cluster::error(&output)) }
    });
    machine.kubectl(["delete", "service", "web"]);
    assert_eq!(raw(&format!("/api/v1/nodes/{NODE}/proxy/healthz")), "ok");
    assert_has(&raw(&format!("/api/v1/nodes/{NODE}/proxy/pods")), &["\"web\""]);
    assert_has(
        &raw(&format!("/api/v1/nodes/{NODE}/proxy/metrics/resource")),
        &["node_cpu_usage_seconds_total", "pod=\"web\""],
    );
}
