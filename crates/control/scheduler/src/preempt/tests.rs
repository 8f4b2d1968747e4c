use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kedge_children::testing::object;
use serde_json::json;

use super::*;
use crate::config::Config;
use crate::decide::{Decision, decide};
use crate::plugins::testing::{cluster, node, pod};

/// A running pod: its name, node, priority and processors, and when it began.
fn runs(name: &str, on: &str, priority: i32, cpu: &str, began: u32) -> Arc<PodView> {
    Arc::new(pod(name, |pod| {
        pod["metadata"]["labels"]["app"] = name.split('-').next().unwrap().into();
        pod["spec"]["nodeName"] = on.into();
        pod["spec"]["priority"] = priority.into();
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
        pod["status"] = json!({"startTime": format!("2030-01-01T10:00:{began:02}Z")});
    }))
}

fn wants(priority: i32, cpu: &str) -> PodView {
    pod("wants", |pod| {
        pod["spec"]["priority"] = priority.into();
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": cpu}});
    })
}

fn budget(app: &str, allowed: i32) -> Budget {
    Budget::of(&object::<PodDisruptionBudget>(json!({
        "metadata": {"name": app, "namespace": "n"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {
            "disruptionsAllowed": allowed, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
        },
    })))
}

/// `node: victims`, or why not.
fn said(pod: &PodView, nodes: &[&str], pods: &[Arc<PodView>], budgets: &[Budget]) -> String {
    let cluster = cluster(nodes.iter().map(|name| node(name, |_| ())), pods.iter().cloned());
    let profile = Config::default().made().unwrap().remove(0);
    let Decision::Nowhere(nowhere) = decide(&profile, pod, &cluster, &mut 0, 0) else {
        return "fits without".to_owned();
    };
    match preempt(&profile, pod, &cluster, &nowhere, budgets, 0) {
        Ok(candidate) => {
            let names: Vec<&str> = candidate.victims.iter().map(|victim| &*victim.key.name).collect();
            format!("{}: {}", candidate.node, names.join(" "))
        }
        Err(refusal) => refusal.text(),
    }
}

#[test]
fn the_fewest_and_least_important_go() {
    for (case, wants, nodes, pods, budgets, wanted) in [
        (
            "one is enough",
            wants(10, "2"),
            vec!["a"],
            vec![runs("x", "a", 0, "2", 0), runs("y", "a", 1, "2", 0)],
            vec![],
            "a: x",
        ),
        (
            "a small one does not help",
            wants(10, "3"),
            vec!["a"],
            vec![runs("x", "a", 0, "1", 0), runs("y", "a", 1, "3", 0)],
            vec![],
            "a: y",
        ),
        (
            "equals stay",
            wants(1, "2"),
            vec!["a"],
            vec![runs("x", "a", 1, "4", 0)],
            vec![],
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        ),
        (
            "too big for the node",
            wants(10, "5"),
            vec!["a"],
            vec![runs("x", "a", 0, "4", 0)],
            vec![],
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
        ),
        (
            "who began last, of equals",
            wants(10, "1"),
            vec!["a"],
            vec![runs("x", "a", 0, "2", 5), runs("y", "a", 0, "2", 9)],
            vec![],
            "a: y",
        ),
        (
            "the node whose most important victim matters least",
            wants(10, "4"),
            vec!["a", "b"],
            vec![runs("x", "a", 5, "4", 0), runs("y", "b", 1, "2", 0), runs("z", "b", 2, "2", 0)],
            vec![],
            "b: z y",
        ),
        (
            "then the smallest sum",
            wants(10, "4"),
            vec!["a", "b"],
            vec![
                runs("x", "a", 2, "2", 0),
                runs("w", "a", 2, "2", 0),
                runs("y", "b", 2, "2", 0),
                runs("z", "b", 1, "2", 0),
            ],
            vec![],
            "b: y z",
        ),
        (
            "then the fewest: negative priorities don't hide it",
            wants(10, "4"),
            vec!["a", "b"],
            vec![runs("x", "a", -5, "2", 0), runs("w", "a", -5, "2", 0), runs("y", "b", -5, "4", 0)],
            vec![],
            "b: y",
        ),
        (
            "then who began last",
            wants(10, "4"),
            vec!["a", "b"],
            vec![runs("x", "a", 0, "4", 3), runs("y", "b", 0, "4", 7)],
            vec![],
            "b: y",
        ),
    ] {
        assert_eq!(said(&wants, &nodes, &pods, &budgets), wanted, "{case}");
    }
}

#[test]
fn budgets_are_broken_only_if_nothing_else_helps() {
    for (case, allowed, pods, wanted) in [
        (
            "another on the same node",
            0,
            vec![runs("web-1", "a", 0, "2", 0), runs("x", "a", 5, "2", 0)],
            "a: x",
        ),
        (
            "another node, also for more important pods",
            0,
            vec![runs("web-1", "a", 0, "4", 0), runs("x", "b", 5, "4", 0)],
            "b: x",
        ),
        ("one may go", 1, vec![runs("web-1", "a", 0, "4", 0), runs("x", "b", 5, "4", 0)], "a: web-1"),
        ("nothing else", 0, vec![runs("web-1", "a", 0, "4", 0), runs("x", "b", 50, "4", 0)], "a: web-1"),
    ] {
        let nodes: &[&str] = if case == "another on the same node" { &["a"] } else { &["a", "b"] };
        assert_eq!(said(&wants(10, "2"), nodes, &pods, &[budget("web", allowed)]), wanted, "{case}");
    }
}

#[test]
fn not_everybody_may_ask() {
    let mut never = wants(10, "2");
    never.never_preempts = true;
    let pods = [runs("x", "a", 0, "4", 0)];
    assert_eq!(said(&never, &["a"], &pods, &[]), "preemption: not eligible due to preemptionPolicy=Never.");

    let mut asked_before = wants(10, "2");
    asked_before.nominated = Some("a".into());
    let leaving = |leaving, disrupted| [Arc::new(PodView { leaving, disrupted, ..(*pods[0]).clone() })];
    for (case, pods, wanted) in [
        (
            "its victim is leaving",
            leaving(true, true),
            "preemption: not eligible due to a terminating pod on the nominated node.",
        ),
        ("somebody else's reason to leave", leaving(true, false), "a: x"),
        ("it is still there", leaving(false, false), "a: x"),
    ] {
        assert_eq!(said(&asked_before, &["a"], &pods, &[]), wanted, "{case}");
    }
}

#[test]
fn looking_at_a_node_leaves_no_trace() {
    // Both nodes have a neighbour that the pod can't stand; only one of them may go.
    let far = |name: &str, on: &str, priority: i32| {
        let mut neighbour = (*runs(name, on, priority, "1", 0)).clone();
        neighbour.labels.insert("noisy".to_owned(), "yes".to_owned());
        Arc::new(neighbour)
    };
    let quiet = pod("wants", |pod| {
        pod["spec"]["priority"] = 10.into();
        pod["spec"]["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": {"noisy": "yes"}}, "topologyKey": "kubernetes.io/hostname",
        }]}});
    });
    for seed_order in [["a", "b"], ["b", "a"]] {
        let pods = [far("x", "a", 0), far("y", "b", 99)];
        assert_eq!(said(&quiet, &seed_order, &pods, &[]), "a: x");
    }
}
