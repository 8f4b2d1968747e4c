//! Pods that not everybody may talk to: policies hold for what begins, from the very first packet of a new pod, and end with their object.

use serde_json::{Value, json};

use super::machine::{FOR_EVER, Machine, shell};
use crate::cluster::eventually;

const SERVE: &str = "mkdir /tmp/www; echo hello > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www";

pub(super) fn isolated(machine: &Machine) {
    let mut container = shell("main", SERVE);
    container["ports"] = json!([{"name": "web", "containerPort": 8080}]);
    container["readinessProbe"] =
        json!({"httpGet": {"port": "web"}, "periodSeconds": 1, "failureThreshold": 1});
    machine.pod("web", json!({"containers": [container]}));
    machine.running("friend", FOR_EVER);
    machine.running("stranger", FOR_EVER);
    machine.ready("web");
    let address = machine.kubectl(["get", "pod", "web", "--output=jsonpath={.status.podIP}"]);
    let url = format!("http://{address}:8080/");
    let reaches = |from: &str| {
        let call = ["exec", from, "--", "busybox", "timeout", "1", "busybox", "wget", "-q", "-O-", &url];
        machine.command(call).output().unwrap().stdout == b"hello\n"
    };
    let until = |what: &str, friend: bool, stranger: bool| {
        eventually(what, || match (reaches("friend"), reaches("stranger")) {
            found if found == (friend, stranger) => Ok(()),
            (friend, stranger) => Err(format!("friend: {friend}, stranger: {stranger}")),
        });
    };
    until("there is no policy", true, true);

    apply(machine, "nobody", json!({"podSelector": {"matchLabels": {"app": "web"}}}));
    until("nobody may", false, false);

    let from = json!([{"podSelector": {"matchLabels": {"app": "friend"}}}]);
    let friends = json!({
        "podSelector": {"matchLabels": {"app": "web"}},
        "ingress": [{"from": from, "ports": [{"port": "web"}]}],
    });
    apply(machine, "friends", friends);
    until("a friend may", true, false);
    machine.kubectl(["label", "pod", "stranger", "app=friend", "--overwrite"]);
    until("a stranger became one", true, true);
    let ready = machine.kubectl([
        "get",
        "pod",
        "web",
        "--output=jsonpath={.status.conditions[?(@.type==\"Ready\")].status}",
    ]);
    assert_eq!(ready, "True", "its node always reaches it");

    // One that tries with its very first breath is held as well.
    let held = json!({"podSelector": {"matchLabels": {"app": "late"}}, "policyTypes": ["Egress"]});
    apply(machine, "held", held);
    let attempt = format!("busybox timeout 1 busybox wget -q -O- {url} || echo nobody there");
    machine.pod("late", json!({"restartPolicy": "Never", "containers": [shell("main", &attempt)]}));
    machine.until("late", ".status.phase", "Succeeded");
    let wrote = machine.kubectl(["logs", "late"]);
    // What a process says on the other channel may come later.
    assert!(wrote.contains("nobody there\n"), "{wrote}");

    machine.kubectl(["delete", "networkpolicies", "--all"]);
    machine.kubectl(["label", "pod", "stranger", "app=stranger", "--overwrite"]);
    until("there is no policy any more", true, true);
}

fn apply(machine: &Machine, name: &str, spec: Value) {
    let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec});
    machine.kubectl_with(&policy.to_string(), ["apply", "--filename=-"]);
}
