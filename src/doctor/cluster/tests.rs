use serde_json::json;

use super::super::finding::Level;
use super::*;

const NOW: i64 = 1_800_000_000;

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

fn ago(seconds: i64) -> String {
    Timestamp::from_second(NOW - seconds).unwrap().to_string()
}

fn node(ready: &str, more: &Value) -> Value {
    let mut conditions =
        vec![json!({"type": "Ready", "status": ready, "message": "kubelet stopped posting node status."})];
    conditions.extend(more.as_array().cloned().unwrap_or_default());
    json!({"metadata": {"name": "n1"}, "status": {"conditions": conditions}})
}

fn healthy() -> Read {
    Read {
        ready: "[+]ping ok\nreadyz check passed\n".to_owned(),
        nodes: vec![node("True", &Value::Null)],
        ..Read::default()
    }
}

fn waiting(reason: &str) -> Vec<Value> {
    let state = json!({"waiting": {"reason": reason, "message": "the message"}});
    vec![json!({
        "metadata": {"namespace": "shop", "name": "web-1", "creationTimestamp": ago(3600)},
        "status": {"phase": "Running", "containerStatuses": [{"name": "web", "state": state}]},
    })]
}

fn webhook(policy: &str) -> Vec<Value> {
    let service = json!({"namespace": "guard", "name": "hook"});
    let one = json!({"name": "check.example", "failurePolicy": policy, "clientConfig": {"service": service}});
    vec![json!({"metadata": {"name": "guard"}, "webhooks": [one]})]
}

#[test]
fn a_healthy_cluster_has_nothing_to_mend() {
    let slice = json!({
        "metadata": {"namespace": "guard", "labels": {"kubernetes.io/service-name": "hook"}},
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
    });
    let read = Read { webhooks: webhook("Fail"), slices: vec![slice], ..healthy() };
    let findings = judge(&read, now());
    assert!(findings.iter().all(|finding| finding.level == Level::Fine), "{findings:#?}");
}

#[test]
fn each_trouble_is_found_with_what_to_do() {
    let unplaced = |seconds| {
        let condition =
            json!({"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"});
        vec![json!({
            "metadata": {"namespace": "shop", "name": "web-1", "creationTimestamp": ago(seconds)},
            "status": {"phase": "Pending", "conditions": [condition]},
        })]
    };
    let pressure = json!([{"type": "DiskPressure", "status": "True"}]);
    let away = json!({"type": "Available", "status": "False", "message": "no endpoints"});
    let leaving = json!({
        "metadata": {"name": "old", "deletionTimestamp": ago(3600)},
        "status": {"conditions": [{"type": "NamespaceContentRemaining", "status": "True", "message": "widgets remain"}]},
    });
    let cordoned = json!({
        "metadata": {"name": "n1"}, "spec": {"unschedulable": true},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    for (case, read, level, told, fix) in [
        (
            "no API",
            Read { ready: "[+]ping ok\n[-]etcd failed: reason withheld\n".to_owned(), ..healthy() },
            Level::Wrong,
            "[-]etcd failed",
            "journalctl",
        ),
        (
            "no node",
            Read { nodes: Vec::new(), ..healthy() },
            Level::Doubt,
            "has no node",
            "kedge token create",
        ),
        (
            "silent",
            Read { nodes: vec![node("Unknown", &Value::Null)], ..healthy() },
            Level::Wrong,
            "n1 is not Ready",
            "kedge status",
        ),
        (
            "full",
            Read { nodes: vec![node("True", &pressure)], ..healthy() },
            Level::Wrong,
            "short of disk",
            "make room",
        ),
        (
            "cordoned",
            Read { nodes: vec![cordoned], ..healthy() },
            Level::Doubt,
            "cordoned",
            "kubectl uncordon n1",
        ),
        (
            "crashes",
            Read { pods: waiting("CrashLoopBackOff"), ..healthy() },
            Level::Wrong,
            "shop/web-1",
            "kubectl logs -n shop web-1 -c web --previous",
        ),
        (
            "no image",
            Read { pods: waiting("ImagePullBackOff"), ..healthy() },
            Level::Wrong,
            "cannot be had",
            "kedge image import",
        ),
        (
            "no config",
            Read { pods: waiting("CreateContainerConfigError"), ..healthy() },
            Level::Wrong,
            "cannot be started",
            "kubectl describe",
        ),
        ("no place", Read { pods: unplaced(3600), ..healthy() }, Level::Doubt, "finds no node", "add a node"),
        (
            "a webhook",
            Read { webhooks: webhook("Fail"), ..healthy() },
            Level::Wrong,
            "nobody answers at guard/hook",
            "delete the configuration",
        ),
        (
            "a lenient webhook",
            Read { webhooks: webhook("Ignore"), ..healthy() },
            Level::Doubt,
            "nobody answers",
            "kubectl get pods",
        ),
        (
            "an extension",
            Read {
                services: vec![json!({"metadata": {"name": "v1.x"}, "status": {"conditions": [away]}})],
                ..healthy()
            },
            Level::Wrong,
            "v1.x does not answer",
            "APIService",
        ),
        (
            "a namespace",
            Read { namespaces: vec![leaving], ..healthy() },
            Level::Doubt,
            "old does not go",
            "finalizers",
        ),
    ] {
        let findings = judge(&read, now());
        let bad: Vec<&Finding> = findings.iter().filter(|finding| finding.level != Level::Fine).collect();
        let [only] = bad[..] else { panic!("{case}: {bad:#?}") };
        assert_eq!(only.level, level, "{case}");
        assert!(
            only.what.contains(told) && only.fix.contains(fix) && !only.why.is_empty(),
            "{case}: {only:#?}"
        );
    }
    let patient = judge(&Read { pods: unplaced(10), ..healthy() }, now());
    assert!(patient.iter().all(|finding| finding.level == Level::Fine), "{patient:#?}");
}

#[test]
fn many_troubles_of_one_kind_are_told_briefly() {
    let pods = std::iter::repeat_n(waiting("CrashLoopBackOff"), 12).flatten().collect();
    let findings = judge(&Read { pods, ..healthy() }, now());
    assert_eq!(findings.iter().filter(|finding| finding.level == Level::Wrong).count(), SHOWN);
    assert!(findings.iter().any(|finding| finding.what.starts_with("7 more pods")), "{findings:#?}");
}

#[test]
fn only_pods_in_trouble_are_kept() {
    assert!(is_troubled(&waiting("CrashLoopBackOff")[0]));
    assert!(is_troubled(&json!({"status": {"phase": "Pending"}})));
    assert!(!is_troubled(
        &json!({"status": {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}})
    ));
}
