//! What there is of pods on the machine: sandboxes, containers, processes, cgroups, mounts, networks, wires.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use kedge_usage::{Groups, Layout};

use crate::machine::Machine;

const UID: &str = "io.kubernetes.pod.uid";

#[derive(Debug)]
pub(crate) struct Remains {
    /// Sandboxes of each pod, by its uid.
    sandboxes: BTreeMap<String, Vec<String>>,
    pub(crate) containers: BTreeSet<String>,
    /// Everything in the pods' cgroups, with when it was started.
    pub(crate) processes: BTreeSet<(u32, String)>,
    /// The pods that have one.
    cgroups: BTreeSet<String>,
    /// Folders of pods, and what is mounted below the data.
    folders: BTreeSet<String>,
    mounts: Vec<String>,
    networks: usize,
    wires: usize,
    shims: Vec<String>,
    error: Option<String>,
}

impl Remains {
    pub(crate) async fn of(machine: &Machine) -> Self {
        let (data, runtime) = (machine.data(), machine.runtime());
        let mut error = None;
        let mut sandboxes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        match runtime.sandboxes(Default::default()).await {
            Ok(all) => {
                for sandbox in all {
                    let uid = sandbox.labels.get(UID).cloned().unwrap_or_default();
                    sandboxes.entry(uid).or_default().push(sandbox.id);
                }
            }
            Err(cause) => error = Some(cause.to_string()),
        }
        let containers = match runtime.containers(Default::default()).await {
            Ok(all) => all.into_iter().map(|container| container.id).collect(),
            Err(cause) => {
                error = Some(cause.to_string());
                BTreeSet::new()
            }
        };
        let groups = Groups::new(Layout::here().unwrap());
        let top = fs::read_to_string(data.join("cgroup")).unwrap_or_default();
        let classes = [top.clone(), format!("{top}/burstable"), format!("{top}/besteffort")];
        let cgroups = classes.iter().flat_map(|class| groups.below(class).unwrap());
        let cgroups = cgroups.filter_map(|name| name.strip_prefix("pod").map(str::to_owned)).collect();
        let processes = groups.processes(&top).into_iter().filter_map(|pid| Some((pid, started(pid)?)));
        let names = |folder: &Path| -> BTreeSet<String> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        let logs = names(&data.join("logs/pods"))
            .into_iter()
            .filter_map(|name| Some(name.rsplit_once('_')?.1.to_owned()));
        Self {
            sandboxes,
            containers,
            processes: processes.collect(),
            cgroups,
            folders: names(&data.join("pods")).into_iter().chain(logs).collect(),
            mounts: mounts(&data),
            networks: names(&data.join("containerd/state/io.containerd.grpc.v1.cri/netns")).len(),
            wires: wires(&data),
            shims: shims(&data),
            error,
        }
    }

    /// Processes that are no longer there.
    pub(crate) fn missing(&self) -> Vec<String> {
        let gone = self.processes.iter().filter(|(pid, since)| started(*pid).as_ref() != Some(since));
        gone.map(|(pid, _)| format!("process {pid}")).collect()
    }

    /// What is there besides so many pods, and what is missing of them.
    pub(crate) fn problems(&self, machine: &Machine, pods: usize) -> Vec<String> {
        let mut problems: Vec<String> = self.error.iter().cloned().collect();
        let mut expect = |what: &str, found: usize, expected: usize, all: &dyn std::fmt::Debug| {
            if found != expected {
                problems.push(format!("{found} {what}, not {expected}: {all:?}"));
            }
        };
        // One of them shares the node's network and has none of its own; what is not there has no network either.
        let networked = pods.saturating_sub(1);
        expect("pods with sandboxes", self.sandboxes.len(), pods, &self.sandboxes);
        expect("sandboxes", self.sandboxes.values().map(Vec::len).sum(), pods, &self.sandboxes);
        expect("containers", self.containers.len(), if pods == 0 { 0 } else { pods + 2 }, &self.containers);
        expect("cgroups of pods", self.cgroups.len(), pods, &self.cgroups);
        expect("folders of pods", self.folders.len(), pods, &self.folders);
        expect("shims", self.shims.len(), pods, &self.shims);
        expect("networks", self.networks, networked, &());
        expect("wires", self.wires, networked, &());
        // Every mount belongs to a sandbox, a container or a pod that is there; the folder of pods is one of its own.
        let known: Vec<&String> =
            self.sandboxes.values().flatten().chain(&self.containers).chain(self.sandboxes.keys()).collect();
        let own = machine.data().join("pods").display().to_string();
        let strange = self.mounts.iter().filter(|mount| {
            **mount != own && !mount.contains("/netns/") && !known.iter().any(|id| mount.contains(&***id))
        });
        let strange: Vec<&String> = strange.collect();
        expect("mounts of nobody", strange.len(), 0, &strange);
        problems
    }
}

/// When a process that lives was started, in the kernel's own count.
fn started(pid: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    (!matches!(fields.next()?, "Z" | "X")).then_some(())?;
    fields.nth(18).map(str::to_owned)
}

fn mounts(data: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    points.filter(|point| point.starts_with(&*data.to_string_lossy())).map(str::to_owned).collect()
}

/// The ends of wires at the bridge that the network was told of.
fn wires(data: &Path) -> usize {
    let files = fs::read_dir(data.join("cni/net.d")).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let bridge = texts.filter_map(|text| {
        let (_, rest) = text.split_once("\"bridge\"")?;
        rest.split('"').nth(1).map(str::to_owned)
    });
    let Some(bridge) = bridge.into_iter().next() else { return 0 };
    fs::read_dir(format!("/sys/class/net/{bridge}/brif")).map_or(0, Iterator::count)
}

fn shims(data: &Path) -> Vec<String> {
    let data = data.to_string_lossy().into_owned();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains("containerd-shim") && line.contains(&data)).collect()
}
