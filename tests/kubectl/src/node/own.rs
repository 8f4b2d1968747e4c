//! What only our own command line is asked for here: pages of what really runs beside kubectl's, folders in and out, ports of services, logs of
//! several pods.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::json;

use super::machine::{FOR_EVER, Machine, NODE, shell};
use crate::cluster::{assert_has, error, text};
use crate::describe::same;

/// What has run, what runs and what it runs on.
pub(super) fn described(machine: &Machine) {
    machine.running("alive", FOR_EVER);
    machine.pod("over", json!({"containers": [shell("main", "exit 3")], "restartPolicy": "Never"}));
    machine.until("over", ".status.phase", "Failed");
    for name in ["pod/alive", "pod/over", &format!("node/{NODE}"), "namespace/walk"] {
        if let Err(differing) = same(machine, name) {
            panic!("{differing}");
        }
    }
}

pub(super) fn folders(machine: &Machine) {
    machine.running("keeper", FOR_EVER);
    let folder = machine.data().parent().unwrap().join("site");
    std::fs::create_dir_all(folder.join("deep")).unwrap();
    std::fs::write(folder.join("a"), "one").unwrap();
    std::fs::write(folder.join("deep/b"), "two").unwrap();
    let from = folder.to_string_lossy();
    machine.own(["cp", &from, "keeper:/tmp/new"]);
    // A folder that is there takes the copy under its own name.
    machine.own(["cp", &from, "walk/keeper:/tmp", "--no-preserve"]);
    let seen =
        machine.own(["exec", "keeper", "--", "sh", "-c", "cd /tmp; cat new/a new/deep/b site/a site/deep/b"]);
    assert_eq!(seen, "onetwoonetwo");
    let back = folder.with_file_name("returned");
    machine.own(["cp", "keeper:/tmp/new", &back.to_string_lossy()]);
    let read = |path: &str| std::fs::read_to_string(back.join(path)).unwrap();
    assert_eq!((read("a"), read("deep/b")), ("one".to_owned(), "two".to_owned()));
    let missing = machine.own_command(["cp", "keeper:/nowhere", &from]).output().unwrap();
    assert!(!missing.status.success(), "{}", error(&missing));
}

pub(super) fn several_pods(machine: &Machine) {
    for name in ["first", "second"] {
        let script = format!(
            "echo I am {name}; mkdir /tmp/www; echo {name} > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"
        );
        let mut container = shell("main", &script);
        container["ports"] = json!([{"name": "http", "containerPort": 8080}]);
        container["readinessProbe"] = json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1});
        machine.pod(name, json!({"containers": [container]}));
        machine.kubectl(["label", "pod", name, "set=both"]);
    }
    machine.ready("first");
    machine.ready("second");
    let told = machine.own(["logs", "--selector=set=both", "--prefix", "--tail=-1"]);
    let mut lines: Vec<&str> = told.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[pod/first/main] I am first", "[pod/second/main] I am second"]);
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "both"},
        "spec": {"selector": {"set": "both"}, "ports": [{"name": "web", "port": 80, "targetPort": "http"}]}});
    machine.kubectl_with(&service.to_string(), ["create", "--filename=-"]);
    let found = machine.own_command(["logs", "service/both"]).output().unwrap();
    assert_has(&error(&found), &["Found 2 pods, using pod/"]);
    assert_has(&text(&found.stdout), &["I am "]);
    let mut forward = machine
        .own_command(["port-forward", "service/both", ":web", ":80"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(forward.stdout.take().unwrap()).lines().map(Result::unwrap);
    let told: Vec<String> = lines.by_ref().filter(|line| line.contains("127.0.0.1:")).take(2).collect();
    for line in &told {
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let mut connection = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
        connection.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert_has(&answer, &["200 OK"]);
        assert_has(line, &["-> 8080"]);
    }
    forward.kill().unwrap();
    forward.wait().unwrap();
    machine.kubectl(["delete", "service", "both"]);
}
