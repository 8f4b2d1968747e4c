//! `kubectl logs` in its forms.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use super::machine::{FOR_EVER, IMAGE, Machine, shell};
use crate::cluster::assert_has;

pub(super) fn of_one_that_ended(machine: &Machine) {
    let script = "echo one; echo two; echo three";
    machine.kubectl(["run", "short", "--image", IMAGE, "--restart=Never", "--", "sh", "-c", script]);
    machine.until("short", ".status.phase", "Succeeded");
    assert_eq!(machine.kubectl(["logs", "short"]), "one\ntwo\nthree\n");
    assert_eq!(machine.kubectl(["logs", "short", "--tail=1"]), "three\n");
    assert_eq!(machine.kubectl(["logs", "short", "--limit-bytes=5"]), "one\nt");
    let stamped = machine.kubectl(["logs", "short", "--timestamps", "--since=1h"]);
    assert_eq!(stamped.lines().count(), 3, "{stamped}");
    assert!(stamped.lines().all(|line| line.starts_with("20") && line.contains('T')), "{stamped}");
    assert_has(
        &machine.refused(["logs", "short", "--previous"]),
        &["previous terminated container \"short\""],
    );
    assert_has(&machine.refused(["logs", "nobody"]), &["pods \"nobody\" not found"]);
}

pub(super) fn followed(machine: &Machine) {
    // Each line is written only after the one before it was read.
    machine.running("writer", "n=0; while [ $n -lt 3 ]; do echo line $n; n=$((n+1)); until rm /tmp/go 2>/dev/null; do sleep 0.05; done; done");
    let mut follower =
        machine.command(["logs", "--follow", "writer"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for number in 0..3 {
        assert_eq!(lines.next().unwrap().unwrap(), format!("line {number}"));
        machine.kubectl(["exec", "writer", "--", "sh", "-c", "echo > /tmp/go"]);
    }
    // The container has ended, and so does what follows it.
    assert!(lines.next().is_none());
    assert!(follower.wait().unwrap().success());
}

pub(super) fn before_a_restart(machine: &Machine) {
    let script =
        format!("test -e /data/x && {{ echo second; {FOR_EVER}; }}; echo > /data/x; echo first; exit 1");
    let mut container = shell("main", &script);
    container["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    machine.pod("again", json!({"containers": [container], "volumes": [{"name": "data", "emptyDir": {}}]}));
    machine.until("again", ".status.containerStatuses[0].restartCount", "1");
    machine.ready("again");
    assert_eq!(machine.kubectl(["logs", "again", "--previous"]), "first\n");
    assert_eq!(machine.kubectl(["logs", "again"]), "second\n");
}

pub(super) fn of_several_containers(machine: &Machine) {
    let one = |name: &str| shell(name, &format!("echo I am {name}; {FOR_EVER}"));
    machine.pod(
        "several",
        json!({"initContainers": [shell("first", "echo I am first")], "containers": [one("a"), one("b")]}),
    );
    machine.ready("several");
    assert_eq!(machine.kubectl(["logs", "several", "--container=b"]), "I am b\n");
    assert_eq!(machine.kubectl(["logs", "several", "--container=first"]), "I am first\n");
    assert_eq!(machine.kubectl(["logs", "several"]), "I am a\n");
    let all = machine.kubectl(["logs", "several", "--all-containers", "--prefix"]);
    assert_has(&all, &["[pod/several/a] I am a", "[pod/several/b] I am b", "[pod/several/first] I am first"]);
    let raw = "/api/v1/namespaces/walk/pods/several/log";
    assert_has(
        &machine.refused(["get", "--raw", raw]),
        &["a container name must be specified for pod several, choose one of: [first a b]"],
    );
    assert_has(
        &machine.refused(["logs", "several", "--container=z"]),
        &["container z is not valid for pod several"],
    );
}
