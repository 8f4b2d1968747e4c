//! A server with the node of this machine and an image to run. It leaves nothing behind: no process, no mount, no link.

use std::ops::Deref;
use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use kedge_images::{File, Store, build};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::cluster::{Cluster, binary, eventually};

pub(super) const IMAGE: &str = "busybox:1";
pub(super) const NODE: &str = "here";

pub(super) struct Machine(Cluster);

impl Deref for Machine {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.0
    }
}

impl Machine {
    pub(super) fn start() -> Self {
        // Tests of other builds may run beside this one.
        let own = std::process::id() % 64;
        let (pods, services) = (format!("10.{}.0.0/16", 128 + own), format!("10.{}.0.0/16", 32 + own));
        let flags = ["--node-name", NODE, "--node-listen", "0.0.0.0:0", "--cluster-cidr", &pods];
        let more = ["--service-cidr", &services, "--eviction-hard", "memory.available<10Mi"];
        let machine = Self(Cluster::with(&[&flags[..], &more].concat()));
        eventually("the node is ready", || {
            let ready = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
            let output = machine.command(["get", "node", NODE, "--output", ready]).output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            if told == "True" { Ok(()) } else { Err(format!("{told:?}\n{}", machine.log())) }
        });
        machine.import();
        machine
    }

    /// Debian's busybox, with the names under which it does something.
    fn import(&self) {
        let content = Bytes::from(std::fs::read("/bin/busybox").unwrap());
        let folder = |path: &str| File::Folder { path: path.to_owned(), mode: 0o755 };
        let names = ["sh", "cat", "tar", "sleep", "httpd", "ls", "stty", "tty", "mkdir", "rm", "test", "id"];
        let links =
            names.map(|name| File::Link { path: format!("/bin/{name}"), target: "busybox".to_owned() });
        let mut files = vec![
            folder("/bin"),
            folder("/tmp"),
            File::Regular { path: "/bin/busybox".to_owned(), mode: 0o755, content },
        ];
        files.extend(links);
        let image = build(IMAGE, &files, json!({"Env": ["PATH=/bin"]})).unwrap();
        let socket = self.data().join("containerd/containerd.sock");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let imported =
            async { Store::at(&socket).import(&image, None, jiff::Timestamp::now(), |_| {}).await };
        runtime.block_on(imported).unwrap();
    }

    /// Makes a pod; `spec` is JSON without the braces around it.
    pub(super) fn pod(&self, name: &str, spec: serde_json::Value) {
        let mut spec = spec;
        spec["terminationGracePeriodSeconds"] = json!(1);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
        self.kubectl_with(&pod.to_string(), ["create", "--filename=-"]);
    }

    /// A pod of one container that runs this until it is told to end, and runs now.
    pub(super) fn running(&self, name: &str, script: &str) {
        self.pod(name, json!({"containers": [shell("main", script)]}));
        self.ready(name);
    }

    pub(super) fn ready(&self, name: &str) {
        self.kubectl(["wait", "--for=condition=Ready", "--timeout=30s", &format!("pod/{name}")]);
    }

    /// Waits until a field of a pod is this.
    pub(super) fn until(&self, pod: &str, field: &str, wanted: &str) {
        self.kubectl([
            "wait",
            &format!("--for=jsonpath={{{field}}}={wanted}"),
            "--timeout=30s",
            &format!("pod/{pod}"),
        ]);
    }

    /// Removes what a story made.
    pub(super) fn clear(&self) {
        let mut command = self.command(["delete", "pods", "--all", "--grace-period=1", "--timeout=30s"]);
        let _whatever_is_left_ends_with_the_machine = command.output();
    }
}

pub(super) fn shell(name: &str, script: &str) -> serde_json::Value {
    json!({"name": name, "image": IMAGE, "command": ["sh", "-c", script]})
}

/// Until it is told to end, and then at once.
pub(super) const FOR_EVER: &str = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

impl Drop for Machine {
    fn drop(&mut self) {
        self.clear();
        let data = self.data();
        self.0.kill();
        let _cleaned = Command::new(binary()).args(["clean", "--data-dir"]).arg(&data).output();
        for pid in processes_below(&data) {
            let _gone = kill_process(pid, Signal::KILL);
        }
        // A mount may lie below another: the last one made goes first.
        for mount in mounts_below(&data).iter().rev() {
            let _unmounted = unmount(mount, UnmountFlags::DETACH);
        }
    }
}

/// Processes that were started with something of this folder: containerd and the shims that outlive it.
fn processes_below(folder: &Path) -> Vec<Pid> {
    let folder = folder.to_string_lossy().into_owned();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let own = pid != std::process::id().cast_signed() && String::from_utf8_lossy(&line).contains(&folder);
        own.then(|| Pid::from_raw(pid)).flatten()
    })
    .collect()
}

fn mounts_below(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = table.lines().filter_map(|line| line.split(' ').nth(4));
    places.filter(|place| place.starts_with(&folder)).map(str::to_owned).collect()
}
