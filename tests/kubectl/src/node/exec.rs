//! `kubectl exec`, `attach` and `cp`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;

use super::machine::{FOR_EVER, Machine, shell};
use crate::cluster::{assert_has, error, text};

pub(super) fn commands(machine: &Machine) {
    machine.running("worker", FOR_EVER);
    let output = machine
        .command(["exec", "worker", "--", "sh", "-c", "echo out; echo err >&2; exit 7"])
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(7), "out\n"),
        "{}",
        error(&output)
    );
    assert_eq!(error(&output), "err\ncommand terminated with exit code 7\n");
    let input = "a line\n".repeat(20_000);
    assert_eq!(machine.kubectl_with(&input, ["exec", "--stdin", "worker", "--", "cat"]), input);
    assert_has(&machine.refused(["exec", "worker", "--", "nonesuch"]), &["nonesuch"]);
    assert_has(
        &machine.refused(["exec", "worker", "-c", "z", "--", "ls"]),
        &["container z is not valid for pod worker"],
    );
}

pub(super) fn on_a_terminal(machine: &Machine) {
    machine.running("shell", FOR_EVER);
    let kubectl = machine.command(["exec", "--stdin", "--tty", "shell", "--", "sh"]);
    let line: Vec<String> = std::iter::once(kubectl.get_program())
        .chain(kubectl.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut script = Command::new("script");
    for (name, value) in kubectl.get_envs() {
        script.env(name, value.unwrap_or_default());
    }
    script.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"tty; stty size; echo $((6*7)); exit 3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let told = text(&output.stdout);
    assert_has(&told, &["/dev/pts/", "42"]);
    assert_eq!(output.status.code(), Some(3), "{told}");
}

pub(super) fn attached(machine: &Machine) {
    let mut container = shell("main", "echo ready; cat; echo done");
    container["stdin"] = json!(true);
    container["stdinOnce"] = json!(true);
    machine.pod("listener", json!({"containers": [container], "restartPolicy": "Never"}));
    machine.ready("listener");
    let told = machine.kubectl_with("hello\n", ["attach", "--stdin", "listener"]);
    assert_has(&told, &["hello\n"]);
    machine.until("listener", ".status.phase", "Succeeded");
    assert_has(&machine.kubectl(["logs", "listener"]), &["ready\nhello\ndone\n"]);
}

pub(super) fn copied(machine: &Machine) {
    machine.running("keeper", FOR_EVER);
    let content = "some text\n".repeat(50_000);
    let there = machine.file("there", &content);
    machine.kubectl(["cp", &there, "keeper:/tmp/kept"]);
    let back = machine.file("back", "");
    machine.kubectl(["cp", "keeper:/tmp/kept", &back]);
    assert!(std::fs::read_to_string(back).unwrap() == content, "it came back as something else");
}
