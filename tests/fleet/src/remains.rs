//! What there is of pods on a machine: sandboxes, containers, processes, cgroups, mounts, networks, wires, addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kedge_runtime::Runtime;
use kedge_runtime::wire::{Container, ContainerState, PodSandboxState};
use kedge_usage::{Groups, Layout};

use crate::switch::within;

const UID: &str = "io.kubernetes.pod.uid";

#[derive(Debug)]
pub struct Remains {
    data: PathBuf,
    /// Sandboxes of each pod, by its uid.
    sandboxes: BTreeMap<String, Vec<String>>,
    /// One that ended may stay for what its containers said.
    ready: usize,
    /// Those that ended, too.
    pub containers: BTreeSet<String>,
    running: BTreeSet<String>,
    /// Containers of pods that have no sandbox.
    orphans: BTreeSet<String>,
    /// Everything in the pods' cgroups, with when it was started.
    pub processes: BTreeSet<(u32, String)>,
    /// The pods that have one.
    cgroups: BTreeSet<String>,
    /// Folders of pods, and what is mounted below the data.
    folders: BTreeSet<String>,
    mounts: Vec<String>,
    networks: usize,
    wires: usize,
    addresses: BTreeSet<String>,
    shims: Vec<String>,
    error: Option<String>,
}

/// What there should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    pub pods: usize,
    /// Those that run.
    pub containers: usize,
    /// Pods with a network of their own.
    pub networked: usize,
}

impl Remains {
    /// `host` is the network namespace that the machine is, if it is one.
    pub async fn of(data: &Path, host: Option<&str>) -> Self {
        let runtime = Runtime::at(&data.join("containerd/containerd.sock"));
        let (mut error, mut ready) = (None, 0);
        let mut sandboxes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        match runtime.sandboxes(Default::default()).await {
            Ok(all) => {
                for sandbox in all {
                    ready += usize::from(sandbox.state() == PodSandboxState::Ready);
                    let uid = sandbox.labels.get(UID).cloned().unwrap_or_default();
                    sandboxes.entry(uid).or_default().push(sandbox.id);
                }
            }
            Err(cause) => error = Some(cause.to_string()),
        }
        let containers = runtime.containers(Default::default()).await.unwrap_or_else(|cause| {
            error = Some(cause.to_string());
            Vec::new()
        });
        let ids = |holds: &dyn Fn(&Container) -> bool| -> BTreeSet<String> {
            containers.iter().filter(|one| holds(one)).map(|one| one.id.clone()).collect()
        };
        let groups = Groups::new(Layout::here().unwrap());
        let top = fs::read_to_string(data.join("cgroup")).unwrap_or_default();
        let classes = [top.clone(), format!("{top}/burstable"), format!("{top}/besteffort")];
        let cgroups = classes.iter().flat_map(|class| groups.below(class).unwrap_or_default());
        let cgroups = cgroups.filter_map(|name| name.strip_prefix("pod").map(str::to_owned)).collect();
        let processes = groups.processes(&top).into_iter().filter_map(|pid| Some((pid, started(pid)?)));
        let logs = names(&data.join("logs/pods"))
            .into_iter()
            .filter_map(|name| Some(name.rsplit_once('_')?.1.to_owned()));
        Self {
            orphans: ids(&|one| !one.labels.get(UID).is_some_and(|uid| sandboxes.contains_key(uid))),
            running: ids(&|one| one.state() == ContainerState::Running),
            containers: ids(&|_| true),
            sandboxes,
            ready,
            processes: processes.collect(),
            cgroups,
            folders: names(&data.join("pods")).into_iter().chain(logs).collect(),
            mounts: kedge_shipped::mounts_below(data),
            networks: names(&data.join("containerd/state/io.containerd.grpc.v1.cri/netns")).len(),
            wires: wires(data, host),
            addresses: names(&data.join("network/addresses")),
            shims: shims(data),
            data: data.to_owned(),
            error,
        }
    }

    /// Processes that are no longer there.
    pub fn missing(&self) -> Vec<String> {
        let gone = self.processes.iter().filter(|(pid, since)| started(*pid).as_ref() != Some(since));
        gone.map(|(pid, _)| format!("process {pid}")).collect()
    }

    /// What is there besides what should be, and what is missing of it.
    pub fn problems(&self, expected: Expected) -> Vec<String> {
        let mut problems: Vec<String> = self.error.iter().cloned().collect();
        let mut expect = |what: &str, found: usize, expected: usize, all: &dyn std::fmt::Debug| {
            if found != expected {
                problems.push(format!("{found} {what}, not {expected}: {all:?}"));
            }
        };
        let Expected { pods, containers, networked } = expected;
        expect("pods with sandboxes", self.sandboxes.len(), pods, &self.sandboxes);
        expect("sandboxes", self.ready, pods, &self.sandboxes);
        expect("containers that run", self.running.len(), containers, &self.running);
        expect("containers of nobody", self.orphans.len(), 0, &self.orphans);
        expect("cgroups of pods", self.cgroups.len(), pods, &self.cgroups);
        expect("folders of pods", self.folders.len(), pods, &self.folders);
        expect("shims", self.shims.len(), pods, &self.shims);
        expect("networks", self.networks, networked, &());
        expect("wires", self.wires, networked, &());
        expect("addresses in use", self.addresses.len(), networked, &self.addresses);
        // Every mount belongs to a sandbox, a container or a pod that is there; the folder of pods is one of its own.
        let known: Vec<&String> =
            self.sandboxes.values().flatten().chain(&self.containers).chain(self.sandboxes.keys()).collect();
        let own = self.data.join("pods").display().to_string();
        let strange = self.mounts.iter().filter(|mount| {
            **mount != own && !mount.contains("/netns/") && !known.iter().any(|id| mount.contains(&***id))
        });
        let strange: Vec<&String> = strange.collect();
        expect("mounts of nobody", strange.len(), 0, &strange);
        problems
    }
}

/// Whether a node's containerd does.
pub async fn runtime_answers(data: &Path) -> Result<(), String> {
    let runtime = Runtime::at(&data.join("containerd/containerd.sock"));
    runtime.sandboxes(Default::default()).await.map(drop).map_err(|error| error.to_string())
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The first process of every sandbox and container that lives, with when it was started, by its id.
pub fn tasks(data: &Path) -> BTreeMap<String, (u32, String)> {
    let folder = data.join("containerd/state/io.containerd.runtime.v2.task/k8s.io");
    let task = |id: String| {
        let text = fs::read_to_string(folder.join(&id).join("init.pid")).ok()?;
        let pid = text.trim().parse().ok()?;
        Some((id, (pid, started(pid)?)))
    };
    names(&folder).into_iter().filter_map(task).collect()
}

/// When a process that lives was started, in the kernel's own count.
fn started(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    (!matches!(fields.next()?, "Z" | "X")).then_some(())?;
    fields.nth(18).map(str::to_owned)
}

/// The node's ends of wires to pods: links of the same group as the bridge that the network was told of.
fn wires(data: &Path, host: Option<&str>) -> usize {
    let files = fs::read_dir(data.join("cni/net.d")).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let bridge = texts.filter_map(|text| {
        let (_, rest) = text.split_once("\"bridge\"")?;
        rest.split('"').nth(1).map(str::to_owned)
    });
    let Some(bridge) = bridge.into_iter().next() else { return 0 };
    let show = |what: &[&str]| {
        let mut command = match host {
            Some(host) => within(host, "ip"),
            None => Command::new("ip"),
        };
        let said = command.args(["-o", "link", "show"]).args(what).output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    };
    let shown = show(&["dev", &bridge]);
    let Some((_, rest)) = shown.split_once(" group ") else { return 0 };
    let group = rest.split_whitespace().next().unwrap_or_default();
    show(&["type", "veth", "group", group]).lines().count()
}

fn shims(data: &Path) -> Vec<String> {
    let data = data.to_string_lossy().into_owned();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains("containerd-shim") && line.contains(&data)).collect()
}
