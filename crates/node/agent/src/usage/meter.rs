//! Measures. What is dear to measure is measured seldom and remembered: what folders hold, and what the runtime has to look up.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kedge_usage::{Disk, MemoryUse, Rates, Stored, disk, interfaces, memory, stored};
use parking_lot::Mutex;

use super::far::Far;
use super::{ContainerUse, Measured, NodeUse, PodUse, Use, VolumeUse};
use crate::probes::Tally;
use crate::roster::Seen;
use crate::spec::resources::milli;
use crate::tools::Tools;
use crate::view::Made;

/// What a folder holds is good for as long, and for as many times as long as it took to find out.
const GOOD_FOR: SignedDuration = SignedDuration::from_secs(10);
const PRICE: i32 = 50;
/// The kind of volume that is on another machine.
const FAR: &str = "nfs";

pub(crate) struct Meter {
    tools: Arc<Tools>,
    /// Where the runtime keeps images and what containers write over them.
    images: PathBuf,
    rates: Mutex<Rates>,
    folders: Mutex<HashMap<PathBuf, (Stored, Timestamp)>>,
    far: Far,
    /// How many pods had to go, by the signal.
    evictions: Mutex<BTreeMap<&'static str, u64>>,
    layers: tokio::sync::Mutex<(HashMap<String, Stored>, Stored, Option<Timestamp>)>,
}

/// How much is to be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Processes,
    /// Also what is stored, of these pods or of all.
    Files,
}

impl Meter {
    pub(crate) fn new(tools: Arc<Tools>, images: PathBuf) -> Self {
        Self {
            tools,
            images,
            rates: Mutex::default(),
            folders: Mutex::default(),
            far: Far::default(),
            evictions: Mutex::default(),
            layers: Default::default(),
        }
    }

    pub(crate) fn images(&self) -> &Path {
        &self.images
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tools.tally
    }

    pub(crate) fn roster(&self) -> Vec<Seen> {
        self.tools.roster.all()
    }

    pub(crate) fn count_eviction(&self, signal: &'static str) {
        *self.evictions.lock().entry(signal).or_default() += 1;
    }

    pub(crate) fn evictions(&self) -> BTreeMap<&'static str, u64> {
        self.evictions.lock().clone()
    }

    /// Notes how far the CPU's counters are, so that whoever asks next learns a rate.
    pub(crate) fn tick(&self) {
        let now = self.tools.steady.now();
        let mut known = HashSet::new();
        let mut note = |path: String| {
            if let Some(total) = self.tools.cgroups.cpu(&path) {
                self.rates.lock().read(&path, total, now);
            }
            known.insert(path);
        };
        ["/".to_owned(), self.tools.cgroups.pods()].into_iter().for_each(&mut note);
        for seen in self.tools.roster.all() {
            note(self.tools.cgroups.of(&seen.pod));
            seen.view.running().for_each(|made| note(self.tools.cgroups.container(&seen.pod, &made.id)));
        }
        self.rates.lock().keep(|path| known.contains(path));
    }

    pub(crate) async fn measure(self: &Arc<Self>, depth: Depth) -> Measured {
        self.measure_those(self.tools.roster.all(), depth).await
    }

    /// Of the node, and of these pods.
    pub(crate) async fn measure_those(self: &Arc<Self>, pods: Vec<Seen>, depth: Depth) -> Measured {
        let (layers, images_used) = match depth {
            Depth::Files => self.layers().await,
            Depth::Processes => Default::default(),
        };
        let this = self.clone();
        // Files are read that may be many, and a disk that may be slow.
        let measured = tokio::task::spawn_blocking(move || {
            let now = this.tools.steady.now();
            let node = NodeUse { images_used, ..this.node(now) };
            let pods = pods.iter().map(|seen| this.pod(seen, depth, &layers, now)).collect();
            Measured { at: this.tools.now(), node, pods }
        });
        let nothing = |_| Measured { at: self.tools.now(), node: NodeUse::default(), pods: Vec::new() };
        measured.await.unwrap_or_else(nothing)
    }

    /// What containers wrote over their images, by id, and what images take. The runtime counts it by itself now and then.
    async fn layers(&self) -> (HashMap<String, Stored>, Stored) {
        let mut known = self.layers.lock().await;
        let now = self.tools.steady.now();
        if known.2.is_some_and(|at| now.duration_since(at) < GOOD_FOR) {
            return (known.0.clone(), known.1);
        }
        let value = |value: Option<kedge_runtime::wire::UInt64Value>| value.map_or(0, |value| value.value);
        let (stats, images) = tokio::join!(
            self.tools.runtime.stats(Default::default()),
            self.tools.runtime.image_filesystems()
        );
        if let Ok(stats) = stats {
            let layers = stats.into_iter().filter_map(|one| {
                let layer = one.writable_layer?;
                let stored = Stored { bytes: value(layer.used_bytes), inodes: value(layer.inodes_used) };
                Some((one.attributes?.id, stored))
            });
            known.0 = layers.collect();
        }
        if let Ok(images) = images {
            known.1 = Stored::default();
            for one in images {
                known.1 += Stored { bytes: value(one.used_bytes), inodes: value(one.inodes_used) };
            }
        }
        known.2 = Some(now);
        (known.0.clone(), known.1)
    }

    fn used(&self, path: &str, at: Timestamp) -> Option<Use> {
        let sample = self.tools.cgroups.sample(path)?;
        let rate = sample.cpu.and_then(|cpu| self.rates.lock().read(path, cpu.total, at));
        let (nano_cores, window) = (rate.map(|rate| rate.per_second), rate.map(|rate| rate.over));
        Some(Use { sample, nano_cores, window })
    }

    pub(crate) fn node(&self, at: Timestamp) -> NodeUse {
        let has = memory().unwrap_or_default();
        let mut used = self.used("/", at).unwrap_or_default();
        used.sample.pressures = kedge_usage::pressures();
        // The top of a tree of version 2 does not count memory.
        if used.sample.memory.is_none() {
            let usage = has.total.saturating_sub(has.free);
            let working_set = usage.saturating_sub(has.inactive_file);
            used.sample.memory =
                Some(MemoryUse { usage, working_set, rss: has.anonymous, ..MemoryUse::default() });
        }
        let parts = [("pods", self.tools.cgroups.pods())];
        let parts = parts.into_iter().filter_map(|(name, path)| Some((name, self.used(&path, at)?)));
        NodeUse {
            name: self.tools.place.node.clone(),
            since: kedge_usage::boot(),
            used,
            memory: has.total,
            swap: (has.swap_total, has.swap_free),
            disk: self.disk(self.tools.folders.pods()),
            images: self.disk(&self.images),
            images_used: Stored::default(),
            counts: kedge_usage::counts().unwrap_or_default(),
            network: interfaces(std::process::id()).unwrap_or_default(),
            parts: parts.collect(),
        }
    }

    fn disk(&self, path: &Path) -> Disk {
        disk(path).unwrap_or_default()
    }

    fn pod(&self, seen: &Seen, depth: Depth, layers: &HashMap<String, Stored>, at: Timestamp) -> PodUse {
        let (pod, meta) = (&*seen.pod, &seen.pod.metadata);
        let path = self.tools.cgroups.of(pod);
        let used = self.used(&path, at);
        let uid = meta.uid.clone().unwrap_or_default();
        let containers = seen.view.running().map(|made| ContainerUse {
            root: layers.get(&made.id).copied(),
            logs: (depth == Depth::Files)
                .then(|| self.stored(&self.tools.folders.logs(pod).join(&made.name), at)),
            ..self.container(pod, made, at)
        });
        let containers: Vec<ContainerUse> = containers.collect();
        let shares = pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true));
        let network = match shares {
            true => Vec::new(),
            false => self.network(&path),
        };
        PodUse {
            name: meta.name.clone().unwrap_or_default(),
            namespace: meta.namespace.clone().unwrap_or_default(),
            since: pod.status.as_ref().and_then(|status| status.start_time.as_ref()).map(|time| time.0),
            processes: used.as_ref().and_then(|used| used.sample.threads),
            network,
            volumes: if depth == Depth::Files { self.volumes(pod, &uid, at) } else { Vec::new() },
            uid,
            path,
            used,
            containers,
        }
    }

    /// Any process of a pod sees its network.
    fn network(&self, path: &str) -> Vec<kedge_usage::Interface> {
        let first = self.tools.cgroups.processes(path).into_iter().next();
        first.and_then(|pid| interfaces(pid).ok()).unwrap_or_default()
    }

    fn container(&self, pod: &Pod, made: &Made, at: Timestamp) -> ContainerUse {
        let path = self.tools.cgroups.container(pod, &made.id);
        let listed =
            pod.spec.iter().flat_map(crate::plan::containers).find(|listed| listed.name == made.name);
        let wanted = listed.and_then(|listed| listed.resources.as_ref());
        let asked = milli(wanted.and_then(|wanted| wanted.requests.as_ref()), "cpu");
        ContainerUse {
            name: made.name.clone(),
            id: made.id.clone(),
            image: made.image.clone(),
            since: made.started_at,
            used: self.used(&path, at),
            path,
            root: None,
            logs: None,
            shares: crate::spec::resources::shares(asked),
        }
    }

    fn volumes(&self, pod: &Pod, uid: &str, at: Timestamp) -> Vec<VolumeUse> {
        let listed = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let mut found = Vec::new();
        for volume in listed {
            let folder = self.tools.folders.pod(uid).join("volumes");
            let Some((disk, stored)) = self.volume(&folder, &volume.name, at) else { continue };
            let is_ephemeral =
                volume.empty_dir.as_ref().is_some_and(|empty| empty.medium.as_deref() != Some("Memory"))
                    || volume.config_map.is_some()
                    || volume.secret.is_some()
                    || volume.downward_api.is_some()
                    || volume.projected.is_some();
            found.push(VolumeUse { name: volume.name.clone(), stored, disk, is_ephemeral });
        }
        found
    }

    /// Volumes are in folders by kind. What is on another machine is not counted file by file, and not even looked at from here.
    fn volume(&self, folder: &Path, name: &str, at: Timestamp) -> Option<(Disk, Stored)> {
        let mut kinds = std::fs::read_dir(folder).ok()?.flatten().map(|kind| kind.path());
        let place = kinds.find(|kind| has(kind, name))?.join(name);
        if place.starts_with(folder.join(FAR)) {
            let disk = self.far.disk(&place)?;
            let inodes = disk.inodes.saturating_sub(disk.inodes_free);
            return Some((disk, Stored { bytes: disk.used, inodes }));
        }
        Some((self.disk(&place), self.stored(&place, at)))
    }

    fn stored(&self, path: &Path, now: Timestamp) -> Stored {
        if let Some((known, until)) = self.folders.lock().get(path).copied()
            && now < until
        {
            return known;
        }
        let found = stored(path);
        let took = self.tools.steady.now().duration_since(now);
        let good_for = GOOD_FOR.max(took.saturating_mul(PRICE));
        let until = now.saturating_add(good_for).unwrap_or(Timestamp::MAX);
        let mut folders = self.folders.lock();
        folders.retain(|_, (_, until)| *until > now);
        folders.insert(path.to_owned(), (found, until));
        found
    }
}

/// The folder above says so: a folder of another machine may not answer.
fn has(kind: &Path, name: &str) -> bool {
    std::fs::read_dir(kind).into_iter().flatten().flatten().any(|entry| entry.file_name() == name)
}
