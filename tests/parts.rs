//! Each part alone, as its own process: the API, the controllers, the scheduler and the carrier of Services meet in the API and nowhere
//! else. In a network namespace of its own; needs root.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use kedge_shipped::{Asked, kubectl, start, text};

const KEDGE: &str = env!("CARGO_BIN_EXE_kedge");
const ADDRESS: &str = "10.250.96.1";
/// The address of the Service `kubernetes`.
const SERVICE: &str = "10.96.96.1";

#[test]
fn parts_alone_make_a_cluster() {
    let mut place = Place::new();
    let listen = format!("{ADDRESS}:6443");
    let data = place.folder.path().join("data");
    let data = data.to_str().unwrap();
    let cidr = format!("{SERVICE}/24");
    place.start(&["apiserver", "--data-dir", data, "--listen", &listen, "--service-cidr", &cidr]);
    place.until(&["get", "--raw", "/readyz"], "ok");

    let kubeconfig = place.kubeconfig();
    let kubeconfig = kubeconfig.to_str().unwrap();
    place.start(&["controllers", "--kubeconfig", kubeconfig]);
    place.until(&["get", "serviceaccount", "default", "-o", "name"], "serviceaccount/default");
    place.said(&["create", "deployment", "web", "--image=example/web", "--replicas=2"]);
    let unbound = ["get", "pods", "-o", "jsonpath={.items[*].status.phase}"];
    place.until(&unbound, "Pending Pending");

    place.start(&["scheduler", "--kubeconfig", kubeconfig]);
    let why =
        ["get", "pods", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='PodScheduled')].message}"];
    place.until(&why, "no nodes available to schedule pods");

    let service = format!("https://{SERVICE}");
    let through = ["--request-timeout=2s", "--server", &service, "get", "--raw", "/readyz"];
    assert!(!place.asked(&through).status.success(), "nobody carries Services yet");
    place.start(&["proxy", "--kubeconfig", kubeconfig, "--node-name", "here"]);
    place.until(&through, "ok");

    place.end_last();
    assert_eq!(text(&place.asked(&through).stdout), "ok", "the kernel carries Services on");
    assert!(
        place.inside(KEDGE).args(["proxy", "--clean", "--node-name", "here"]).status().unwrap().success()
    );
    let tables = place.inside("nft").args(["list", "tables"]).output().unwrap();
    assert_eq!(text(&tables.stdout), "", "nothing of it is left");
}

/// A machine of its own, as far as its network goes. Everything in it ends with the test.
struct Place {
    name: String,
    folder: tempfile::TempDir,
    processes: Vec<Child>,
}

impl Place {
    fn new() -> Self {
        let name = format!("kedge-parts-{}", std::process::id());
        run(Command::new("ip").args(["netns", "add", &name]));
        let place = Self { name, folder: tempfile::tempdir().unwrap(), processes: Vec::new() };
        run(place.inside("ip").args(["link", "set", "lo", "up"]));
        run(place.inside("ip").args(["address", "add", &format!("{ADDRESS}/24"), "dev", "lo"]));
        // So that addresses of Services lead somewhere, as they do on every machine that reaches others.
        run(place.inside("ip").args(["route", "add", "default", "dev", "lo", "src", ADDRESS]));
        place
    }

    fn inside(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.name)).arg(program).stdin(Stdio::null());
        command
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/kubeconfig")
    }

    fn start(&mut self, words: &[&str]) {
        let process = start(self.inside(KEDGE).args(words), &self.log());
        self.processes.push(process);
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn end_last(&mut self) {
        if let Some(process) = self.processes.pop() {
            end(process);
        }
    }
}

impl Asked for Place {
    fn kubectl(&self) -> Command {
        let mut command = self.inside(kubectl());
        command.arg("--kubeconfig").arg(self.kubeconfig());
        command
    }

    fn evidence(&self) -> String {
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.processes.drain(..).for_each(end);
        let _gone = Command::new("ip").args(["netns", "delete", &self.name]).status();
    }
}

fn end(mut process: Child) {
    let _already_gone = process.kill();
    let _reaped = process.wait();
}

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}
