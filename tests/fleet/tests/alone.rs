//! One machine, as `make up` starts it and `make down` and `make uninstall` end it, by the same scripts: what they leave on the machine is
//! what was there before. Needs root, `ip`, `nft`, nsenter, containerd, runc, kubectl and a static busybox.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests end where something is wrong"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use kedge_fleet::{Switch, Traces, cgroups, within};
use kedge_shipped::{IMAGE, binary, eventually, import, sweep};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// Far longer than anything here takes; only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the machine's file of names says before it is a node.
const HOSTS: &str = "127.0.0.1 localhost\n";

struct Alone {
    host: String,
    folder: PathBuf,
    // The last to go: nothing is reached without it.
    _switch: Switch,
}

impl Alone {
    fn new(folder: &Path) -> Self {
        let mut switch = Switch::make();
        let (host, _) = switch.plug();
        std::fs::write(folder.join("hosts"), HOSTS).unwrap();
        Self { host, folder: folder.to_owned(), _switch: switch }
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn hosts(&self) -> PathBuf {
        self.folder.join("hosts")
    }

    fn traces(&self) -> Traces {
        Traces::of(&self.host, &self.data())
    }

    fn script(&self, name: &str, more: &[&str]) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
        let mut command = within(&self.host, scripts.join(name));
        // How full this machine's disk is must not matter here.
        let flags = format!(
            "--eviction-hard memory.available<1Mi --shutdown-grace-period 20s --hosts-file {}",
            self.hosts().display()
        );
        command.arg(binary()).arg(self.data()).args(more).env("FLAGS", flags).env("HOME", &self.folder);
        command
    }

    #[track_caller]
    fn up(&self) {
        // What it starts holds what it was given to write to: a pipe would never end.
        let said = self.folder.join("said");
        let to = || std::fs::File::options().create(true).append(true).open(&said).unwrap();
        let status = self.script("up", &["0.0.0.0:6443"]).stdout(to()).stderr(to()).status().unwrap();
        let text = std::fs::read_to_string(&said).unwrap_or_default();
        assert!(status.success(), "{text}\n{}", self.log());
    }

    #[track_caller]
    fn down(&self) {
        told(self.script("down", &[]));
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.data().join("server.log")).unwrap_or_default()
    }

    #[track_caller]
    fn kubectl(&self, arguments: &[&str]) -> String {
        let mut command = within(&self.host, kedge_shipped::kubectl());
        command.env("KUBECONFIG", self.data().join("kubeconfig")).env("HOME", &self.folder);
        command.arg("--request-timeout=20s").args(arguments);
        told(command)
    }

    /// A pod with a Service at the node's port, as people make them.
    fn work(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(import(&self.data()));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            {
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [{
                    "name": "main", "image": IMAGE, "ports": [{"containerPort": 8080, "hostPort": 8088}],
                    "command": ["sh", "-c", "trap 'echo ended > /said/ended; exit 0' TERM; while :; do sleep 0.1; done"],
                    "volumeMounts": [{"name": "said", "mountPath": "/said"}],
                }], "volumes": [{"name": "said", "hostPath": {"path": self.folder.join("pods"), "type": "DirectoryOrCreate"}}]},
            },
            {
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
            },
            {
                "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "web"},
                "spec": {"podSelector": {}},
            },
            {
                "apiVersion": "kedge.dev/v1", "kind": "DNSRecord", "metadata": {"name": "web"},
                "spec": {"host": "web.example", "paths": [{"pathName": "all", "service": "web", "port": 80}]},
            },
        ]});
        let file = self.folder.join("work.json");
        std::fs::write(&file, list.to_string()).unwrap();
        self.kubectl(&["apply", &format!("--filename={}", file.display())]);
        self.kubectl(&["wait", "--for=condition=Ready", "--timeout=60s", "pod/web"]);
        eventually("the machine knows the host", PATIENCE, || {
            let text = std::fs::read_to_string(self.hosts()).unwrap();
            if text.contains("web.example") { Ok(()) } else { Err(text) }
        });
    }

    /// The machine goes down, as its power supply says: pods are asked to end before the server does.
    fn power_fails(&self) {
        let ended = self.folder.join("pods/ended");
        // From when it was stopped before.
        let _former = std::fs::remove_file(&ended);
        let pid = std::fs::read_to_string(self.data().join("server.pid")).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, Signal::POWER).unwrap();
        eventually("the server has ended", PATIENCE, || {
            let words = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
            if words.is_empty() { Ok(()) } else { Err(self.log()) }
        });
        assert!(ended.exists(), "the pod was not asked to end\n{}", self.log());
        assert!(self.log().contains("the machine goes down"), "{}", self.log());
    }

    #[track_caller]
    fn is_as_before(&self, before: &Traces, cgroups: &[PathBuf]) {
        eventually("the machine is as it was before", PATIENCE, || {
            let after = self.traces();
            let left: Vec<_> = cgroups.iter().filter(|folder| folder.exists()).collect();
            match after == *before && left.is_empty() {
                true => Ok(()),
                false => Err(format!("{after:#?} and {left:?}, but was {before:#?}")),
            }
        });
        assert_eq!(std::fs::read_to_string(self.hosts()).unwrap(), HOSTS);
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // Whatever a failed test left.
        if self.data().exists() {
            let _ended = self.script("down", &[]).output();
            sweep(&self.folder);
        }
    }
}

#[track_caller]
fn told(mut command: Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn what_comes_up_goes_down_without_a_trace() {
    let folder = tempfile::Builder::new().prefix("kalone").tempdir().unwrap();
    let alone = Alone::new(folder.path());
    let before = alone.traces();
    alone.up();
    alone.work();
    let groups = cgroups(&alone.data());
    assert!(!groups.is_empty() && alone.traces() != before, "there is something to be taken away");
    alone.down();
    alone.is_as_before(&before, &groups);
    assert!(alone.data().join("store").exists(), "the data stay");

    // What was there comes back, and goes for good.
    alone.up();
    alone.kubectl(&["wait", "--for=condition=Ready", "--timeout=60s", "pod/web"]);
    alone.power_fails();
    alone.down();
    told({
        let mut command = within(&alone.host, binary());
        command.args(["uninstall", "--data-dir"]).arg(alone.data());
        command
    });
    alone.is_as_before(&before, &groups);
    assert!(!alone.data().exists(), "no data are left");
}
