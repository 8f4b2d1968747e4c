//! DNSRecords and Ingresses: pods and the node call hosts by their names, and what is changed is so a moment later.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::machine::{FOR_EVER, Machine, shell};
use crate::cluster::{assert_has, eventually};

/// How soon a change has to be felt.
const SOON: Duration = Duration::from_secs(1);

pub(super) fn served(machine: &Machine) {
    for (name, port) in [("dns-service", 22222), ("dns-service2", 23456)] {
        let serve =
            format!("mkdir /tmp/www; echo hello from {name} > /tmp/www/x; exec httpd -f -p 8080 -h /tmp/www");
        machine.pod(name, json!({"containers": [shell("main", &serve)]}));
        let ports = json!([{"port": port, "targetPort": 8080}]);
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": ports},
        });
        machine.kubectl_with(&service.to_string(), ["apply", "--filename=-"]);
    }
    machine.running("caller", FOR_EVER);
    machine.ready("dns-service");
    machine.ready("dns-service2");
    let gateway = gateway(machine);
    let paths = json!([
        {"service": "dns-service", "pathName": "path1", "port": 22222},
        {"service": "dns-service2", "pathName": "path2", "port": 23456},
    ]);
    apply(machine, &paths);
    eventually("the record is ready", || {
        let table = machine.kubectl(["get", "dnsrecords"]);
        let row: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        let expected =
            ["dns-test1", "minik8s.com", "/path1,/path2", "dns-service:22222,dns-service2:23456", "True"];
        if row.starts_with(&expected) { Ok(()) } else { Err(table) }
    });
    assert_has(&machine.kubectl(["get", "dnsr"]), &["HOST", "PATHS", "SERVICES", "READY", "AGE"]);

    // From a pod, by name.
    let wget = |path: &str| {
        let url = format!("http://minik8s.com{path}");
        let output = machine
            .command(["exec", "caller", "--", "busybox", "wget", "-q", "-O", "-", &url])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (path, expected) in
        [("/path1/x", "hello from dns-service\n"), ("/path2/x", "hello from dns-service2\n")]
    {
        eventually(&format!("a pod reaches {path}"), || {
            let seen = wget(path);
            if seen == expected { Ok(()) } else { Err(format!("{seen:?}")) }
        });
    }
    // From the node: at the gateway's port, and by the name that its hosts file has.
    assert_has(&get(gateway, "minik8s.com", "/path1/x"), &["HTTP/1.1 200", "hello from dns-service\n"]);
    let by_name = eventually("the node knows the name", || {
        let file = std::fs::read_to_string(machine.hosts_file()).unwrap_or_default();
        let line = file.lines().find(|line| line.ends_with("\tminik8s.com")).map(str::to_owned);
        line.ok_or(file)
    });
    let address = by_name.split('\t').next().unwrap().to_owned();
    eventually("the node reaches it by its name", || {
        let seen = get(SocketAddr::new(address.parse().unwrap(), 80), "minik8s.com", "/path2/x");
        if seen.contains("hello from dns-service2") { Ok(()) } else { Err(seen) }
    });
    assert_has(&get(gateway, "unknown.com", "/"), &["HTTP/1.1 404", "unknown.com"]);
    assert_has(&get(gateway, "minik8s.com", "/path3"), &["HTTP/1.1 404", "/path3"]);

    // Changes.
    apply(machine, &json!([{"service": "dns-service2", "pathName": "path1", "port": 23456}]));
    within(SOON, "the path leads elsewhere", || {
        get(gateway, "minik8s.com", "/path1/x").contains("dns-service2")
    });
    within(SOON, "the other path is gone", || get(gateway, "minik8s.com", "/path2/x").contains("404"));
    machine.kubectl(["delete", "pod", "dns-service2", "--grace-period=1", "--timeout=30s"]);
    eventually("nobody is behind it", || {
        let seen = get(gateway, "minik8s.com", "/path1/x");
        if seen.contains("503") && seen.contains("dns-service2:23456") { Ok(()) } else { Err(seen) }
    });
    eventually("the record says so", || {
        let reason = "jsonpath={.status.conditions[?(@.type==\"Ready\")].reason}";
        let seen = machine.kubectl(["get", "dnsrecord", "dns-test1", "--output", reason]);
        if seen == "NoEndpoints" { Ok(()) } else { Err(seen) }
    });
    machine.kubectl(["delete", "dnsrecord", "dns-test1"]);
    within(SOON, "the host is gone", || get(gateway, "minik8s.com", "/path1/x").contains("404"));
    eventually("the node has forgotten the name", || {
        let file = std::fs::read_to_string(machine.hosts_file()).unwrap_or_default();
        if file.contains("minik8s.com") { Err(file) } else { Ok(()) }
    });
    assert_eq!(wget("/path1/x"), "", "nobody knows the name any more");
    machine.kubectl(["delete", "services", "dns-service", "dns-service2"]);
}

pub(super) fn ingress(machine: &Machine) {
    let serve =
        "mkdir -p /tmp/www/shop; echo hello shop > /tmp/www/shop/x; exec httpd -f -p 8080 -h /tmp/www";
    machine.running("shop", serve);
    machine.kubectl(["expose", "pod", "shop", "--port=80", "--target-port=8080"]);
    let gateway = gateway(machine);
    machine.kubectl(["create", "ingress", "shop", "--rule=shop.example/shop*=shop:80"]);
    eventually("the path is served", || {
        let seen = get(gateway, "shop.example", "/shop/x");
        if seen.contains("hello shop") { Ok(()) } else { Err(seen) }
    });
    let class = machine.kubectl(["get", "ingress", "shop", "--output=jsonpath={.spec.ingressClassName}"]);
    assert_eq!(class, "kedge");
    eventually("it says where it is reached", || {
        let address = "jsonpath={.status.loadBalancer.ingress[0].ip}";
        let seen = machine.kubectl(["get", "ingress", "shop", "--output", address]);
        if seen.is_empty() { Err("nowhere".to_owned()) } else { Ok(()) }
    });
    machine.kubectl(["delete", "ingress", "shop"]);
    within(SOON, "the host is gone", || get(gateway, "shop.example", "/shop/x").contains("404"));
    machine.kubectl(["delete", "service", "shop"]);
}

fn apply(machine: &Machine, paths: &Value) {
    let record = json!({
        "apiVersion": "kedge.dev/v1", "kind": "DNSRecord", "metadata": {"name": "dns-test1"},
        "spec": {"host": "minik8s.com", "paths": paths},
    });
    machine.kubectl_with(&record.to_string(), ["apply", "--filename=-"]);
}

/// Where the gateway is, as the server says when it starts.
fn gateway(machine: &Machine) -> SocketAddr {
    let log = machine.log();
    let told = log.split("the gateway serves HTTP at 0.0.0.0:").nth(1).expect("a gateway");
    let port = told.split(' ').next().unwrap().parse().unwrap();
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Head and body of what is at a path.
fn get(at: SocketAddr, host: &str, path: &str) -> String {
    let mut seen = String::new();
    let asked = TcpStream::connect_timeout(&at, Duration::from_secs(5)).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        stream.read_to_string(&mut seen)
    });
    asked.map_or_else(|error| error.to_string(), |_| seen)
}

#[track_caller]
fn within(time: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < time, "still untrue after {time:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
