//! What whoever looks after a node does: sees what is used, sends its pods away.

use std::time::{Duration, Instant};

use serde_json::json;

use super::machine::{FOR_EVER, Machine, NODE, shell};
use crate::cluster::{assert_has, error, eventually, text};

pub(super) fn top(machine: &Machine) {
    machine.running("busy", "while :; do :; done");
    let told = |arguments: &[&str], parts: &[&str]| {
        eventually("it is told how much is used", || {
            let output = machine.command(arguments.iter().copied()).output().unwrap();
            let told = text(&output.stdout);
            let all = parts.iter().all(|part| told.contains(part));
            if all { Ok(told) } else { Err(format!("{told}{}", error(&output))) }
        })
    };
    let nodes = told(&["top", "nodes"], &[NODE, "%"]);
    assert_has(&nodes, &["NAME", "CPU(cores)", "MEMORY(bytes)"]);
    told(&["top", "pods"], &["busy"]);
    told(&["top", "pods", "--containers"], &["busy", "main"]);
    told(&["get", "nodes.metrics.k8s.io"], &["NAME", "CPU", "MEMORY", "WINDOW", NODE]);
    // It uses what it can get, and that is found out.
    eventually("the busy pod is seen to be busy", || {
        let path = "/apis/metrics.k8s.io/v1beta1/namespaces/walk/pods/busy";
        let output = machine.command(["get", "--raw", path]).output().unwrap();
        let measured: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let cores = measured["containers"][0]["usage"]["cpu"].as_str().unwrap_or_default().to_owned();
        let nanos = cores.strip_suffix('n').and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or(0);
        if nanos > 50_000_000 { Ok(()) } else { Err(format!("{cores:?}: {measured}")) }
    });
    let service = machine.object("apiservice", "v1beta1.metrics.k8s.io");
    assert_eq!(service["status"]["conditions"][0]["reason"], "Local", "{service}");
}

pub(super) fn drained(machine: &Machine) {
    machine.running("leaving", FOR_EVER);
    machine.kubectl(["cordon", NODE]);
    assert_has(&machine.kubectl(["get", "nodes"]), &["SchedulingDisabled"]);
    machine.pod("waiting", json!({"containers": [shell("main", FOR_EVER)]}));
    machine.until("waiting", ".status.conditions[0].reason", "Unschedulable");
    machine.kubectl([
        "drain",
        NODE,
        "--force",
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        "--timeout=30s",
    ]);
    assert_has(&machine.refused(["get", "pod", "leaving"]), &["not found"]);
    machine.kubectl(["uncordon", NODE]);
    machine.ready("waiting");
    // One that ends when it is asked to does so at once; one that doesn't has the time that it is given.
    machine.running("deaf", "trap '' TERM; while :; do sleep 0.1; done");
    for (pod, grace, least) in [("waiting", "30", 0), ("deaf", "2", 2)] {
        let begun = Instant::now();
        machine.kubectl(["delete", "pod", pod, "--grace-period", grace]);
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs(least) && took < Duration::from_secs(15), "{pod} took {took:?}");
    }
}
