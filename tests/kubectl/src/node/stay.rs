//! `kubectl debug`, `run` with somebody who stays, and `exec` by manifest.

use super::machine::{FOR_EVER, IMAGE, Machine, NODE};
use crate::cluster::{assert_has, error, eventually, text};

/// A container in a pod that runs, a copy of the pod, and a pod that sees the node. Nobody attaches: what a container says before
/// somebody listens is in its log alone.
pub(super) fn looked_into(machine: &Machine) {
    machine.running("subject", FOR_EVER);
    let image = format!("--image={IMAGE}");
    let debug = |words: &[&str], script: &str| {
        let begin = ["debug", &image, "--profile=general"];
        machine.kubectl(begin.into_iter().chain(words.iter().copied()).chain(["--", "sh", "-c", script]))
    };
    // It sees what the other one runs.
    debug(&["subject", "--container=look", "--target=main"], "ps | grep 'sleep 0.[1]' && echo seen");
    said(machine, &["subject", "--container=look"], "seen");
    let manifest = machine.file("subject.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: subject}\n");
    let told = machine.kubectl([
        "exec",
        "--filename",
        &manifest,
        "--container=main",
        "--",
        "sh",
        "-c",
        "echo by file",
    ]);
    assert_eq!(told, "by file\n");

    debug(&["subject", "--copy-to=double", "--container=main", "--same-node"], "echo copied; sleep 60");
    said(machine, &["double"], "copied");
    let node = ".spec.nodeName";
    machine.until("double", node, NODE);

    let marked = machine.file("marked", "marked");
    let told = debug(&[&format!("node/{NODE}")], &format!("cat /host{marked}"));
    let pod = told.split_whitespace().find(|word| word.starts_with("node-debugger-")).unwrap();
    said(machine, &[pod], "marked");
}

fn said(machine: &Machine, words: &[&str], wanted: &str) {
    eventually(&format!("{words:?} said {wanted}"), || {
        let output = machine.command(["logs"].into_iter().chain(words.iter().copied())).output().unwrap();
        if text(&output.stdout).contains(wanted) { Ok(()) } else { Err(error(&output)) }
    });
}

/// A pod that is there for as long as somebody speaks to it, and tells how it ended.
pub(super) fn spoken_with(machine: &Machine) {
    let image = format!("--image={IMAGE}");
    let run = |name: &'static str, input: &str, script: &str| {
        let stay = ["--restart=Never", "--stdin", "--rm", "--quiet", "--command", "--", "sh", "-c", script];
        machine.output_with(input, ["run", name, &image].into_iter().chain(stay))
    };
    let output = run("talker", "one\ntwo\n", "while read line; do echo got $line; done; echo over");
    assert!(output.status.success(), "{}", error(&output));
    assert_has(&text(&output.stdout), &["got one\ngot two\nover\n"]);
    let output = run("loser", "", "exit 5");
    assert_eq!(output.status.code(), Some(5), "{}", error(&output));
    let left = machine.kubectl(["get", "pods", "--output=name", "--field-selector=status.phase=Running"]);
    assert!(!left.contains("talker") && !left.contains("loser"), "{left}");
}
