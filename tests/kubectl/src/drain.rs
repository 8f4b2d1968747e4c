//! Nodes are drained by us and by stock kubectl beside each other: what is in the way, what a budget says, and what is left behind. The
//! nodes are played; each has a namespace of its name.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::cluster::{Cluster, eventually, text};
use crate::own::{two_namespaces, words};
use crate::played::Played;

/// What a node has, each of its own kind, and the budget that one of them is under.
const THINGS: &[(&str, &str)] = &[
    ("bare", "apiVersion: v1\nkind: Pod\nmetadata: {name: bare, labels: {app: bare}}\nspec: SPEC\n"),
    (
        "data",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: data, labels: {app: data}}\nspec: {volumes: [{name: v, emptyDir: {}}], nodeName: NODE, containers: [{name: c, image: x}]}\n",
    ),
    (
        "web",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec: {serviceName: x, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: SPEC}}\n",
    ),
    (
        "budget",
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n",
    ),
    (
        "agent",
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {nodeSelector: {kubernetes.io/hostname: NODE}, containers: [{name: c, image: x}]}}}\n",
    ),
];

const WHO: [&str; 2] = ["ours", "stock"];

/// Makes what a story needs on both nodes, and waits until it runs and budgets have counted it.
fn make(cluster: &Cluster, things: &[&str]) {
    for who in WHO {
        cluster.kubectl(["uncordon", who]);
        for (_, manifest) in THINGS.iter().filter(|(name, _)| things.contains(name)) {
            let spec =
                "{nodeName: NODE, terminationGracePeriodSeconds: 1, containers: [{name: c, image: x}]}";
            let manifest = manifest.replace("SPEC", spec).replace("NODE", who);
            cluster.kubectl_with(&manifest, ["apply", "--namespace", who, "-f", "-"]);
        }
        for thing in things {
            eventually(&format!("{thing} is there"), || {
                let (what, path) = match *thing {
                    "budget" => ("pdb", "jsonpath={.items[*].status.currentHealthy}"),
                    _ => ("pods", "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}"),
                };
                let label = format!("app={thing}");
                let selector = if what == "pdb" { "!none" } else { &label };
                let said = cluster.kubectl(["get", what, "-n", who, "-l", selector, "-o", path]);
                if said == "True" || said == "1" { Ok(()) } else { Err(said) }
            });
        }
    }
}

/// What was said, in an order that does not depend on who was faster, and without what is another's each time.
fn neutral(said: &str, who: &str) -> Vec<String> {
    let line = |line: &str| {
        // Stock kubectl says it twice, and pods of a daemon set have names that are drawn by lot.
        let line = line.replace("cannot delete cannot delete", "cannot delete").replace(who, "N");
        // Several warnings stand in one line, in any order.
        let line = match line.strip_prefix("Warning: ") {
            Some(warnings) => {
                let mut warnings: Vec<&str> = warnings.split("; ").collect();
                warnings.sort_unstable();
                format!("Warning: {}", warnings.join("; "))
            }
            None => line,
        };
        match line.find("agent-") {
            Some(at) => format!("{}{}", &line[..at], &line[(at + 11).min(line.len())..]),
            None => line,
        }
    };
    let mut lines: Vec<String> = said.lines().map(line).collect();
    lines.sort();
    lines
}

fn drain(cluster: &Cluster, own: bool, who: &str, flags: &str) -> (Option<i32>, Vec<String>, Vec<String>) {
    let words = words(&format!("drain {who} {flags}").replace("WHO", who));
    let arguments = words.iter().map(String::as_str).filter(|word| !word.is_empty());
    let output = match own {
        true => cluster.own_command(arguments),
        false => cluster.command(arguments),
    }
    .output()
    .unwrap();
    (output.status.code(), neutral(&text(&output.stdout), who), neutral(&text(&output.stderr), who))
}

#[test]
fn nodes_are_drained_as_kubectl_drains_them() {
    let cluster = Cluster::start();
    let _nodes = Played::start(&cluster, &WHO);
    two_namespaces(&cluster);
    for (story, things, flags) in [
        ("a pod of nobody", &["bare"][..], ""),
        ("it may go", &["bare"], "--force"),
        ("it is gone", &[], "--force"),
        ("a pod with data", &["data"], "--force"),
        ("its data may go", &["data"], "--force --delete-emptydir-data --grace-period=0"),
        ("a pod of every node", &["agent"], ""),
        ("force is not enough", &["agent"], "--force"),
        ("it may stay", &["agent", "web"], "--ignore-daemonsets"),
        ("others are not meant", &["bare", "web"], "--ignore-daemonsets --pod-selector=app=web"),
        ("nobody goes yet", &["bare", "web"], "--ignore-daemonsets --force --dry-run=client"),
        ("the server says who could go", &["bare", "web"], "--ignore-daemonsets --force --dry-run=server"),
        ("a budget is in the way", &["bare", "web", "budget"], "--ignore-daemonsets --force --timeout=3s"),
        ("who deletes asks no budget", &["web"], "--ignore-daemonsets --disable-eviction"),
        ("a wrong selector", &[], "--ignore-daemonsets --pod-selector='a in'"),
        ("nobody of that name", &[], "nobody"),
        ("name and selector", &[], "-l a=b"),
    ] {
        make(&cluster, things);
        let (mut ours, mut stock) =
            (drain(&cluster, true, "ours", flags), drain(&cluster, false, "stock", flags));
        for told in [&mut ours, &mut stock] {
            // Who waits for a budget asks as often as there is time; stock kubectl looks at the clock only between two tries.
            told.1.dedup();
            told.2.dedup();
            // What to do next is said by each in his own words.
            told.2.retain(|line| !line.starts_with("See '"));
        }
        assert_eq!(ours, stock, "{story}");
    }
}

#[test]
fn a_drain_waits_for_a_budget_and_goes_on() {
    let cluster = Cluster::start();
    let _nodes = Played::start(&cluster, &WHO);
    two_namespaces(&cluster);
    make(&cluster, &["web", "budget"]);
    // The other node is in its way with something, and it is drained all the same.
    make(&cluster, &["bare"]);
    cluster.kubectl(["delete", "pod", "bare", "-n", "ours"]);
    let mut drain = cluster
        .own_command(["drain", "stock", "ours"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut complaints = BufReader::new(drain.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = complaints.find(|line| line.contains("will retry after 5s")).unwrap();
    assert!(first.ends_with("Cannot evict pod as it would violate the pod's disruption budget."), "{first}");
    cluster.kubectl(["delete", "pdb", "web", "-n", "ours"]);
    let rest: Vec<String> = complaints.collect();
    let output = drain.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}\n{rest:?}");
    assert!(said.contains("pod/web-0 evicted\nnode/ours drained\n"), "{said}\n{rest:?}");
    assert_eq!(
        rest,
        [
            "There are pending nodes to be drained:",
            " stock",
            "cannot delete Pods that declare no controller (use --force to override): stock/bare",
        ]
    );
}
