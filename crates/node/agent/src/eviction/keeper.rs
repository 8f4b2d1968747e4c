//! Looks now and then whether the node runs short, says so, and ends pods until it doesn't. At most one at a time: what one
//! gives back may be enough.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kedge_engine::{Note, Severity, Target};
use kedge_usage::Disk;

use super::rank::{Candidate, rank};
use super::threshold::{Signal, Threshold};
use super::{Eviction, History, Observations, Observed, limits, message};
use crate::admission::is_critical;
use crate::memory::Verdict;
use crate::registry::Registry;
use crate::roster::Seen;
use crate::tools::Tools;
use crate::usage::{Depth, Measured, Meter, NodeUse, PodUse};

/// What is short must be had back soon; those who asked for little have had their time.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(1);
/// How long an end may take before the next is thought of.
const CLEANING: SignedDuration = SignedDuration::from_secs(30);
const ASK: Duration = Duration::from_millis(250);

pub(crate) struct Keeper {
    tools: Arc<Tools>,
    registry: Arc<Registry>,
    meter: Arc<Meter>,
    eviction: Eviction,
}

impl Keeper {
    pub(crate) fn new(
        tools: Arc<Tools>,
        registry: Arc<Registry>,
        meter: Arc<Meter>,
        eviction: Eviction,
    ) -> Self {
        Self { tools, registry, meter, eviction }
    }

    /// Until it is dropped.
    pub(crate) async fn keep(&self) {
        let mut history = History::default();
        loop {
            self.meter.tick();
            if !self.turn(&mut history).await {
                self.tools.clock.sleep(self.eviction.every).await;
            }
        }
    }

    /// One look. True if somebody had to go, so that it is worth looking again at once.
    async fn turn(&self, history: &mut History) -> bool {
        let now = self.tools.steady.now();
        let node = self.meter.node(now);
        let seen = observations(&node);
        let (shortage, new) = self.eviction.judge(&seen, history, now);
        *history = new;
        self.tools.board.write(|notes| {
            let is = |pressure: &str| shortage.pressures.contains(&pressure);
            notes.pressure.memory = is("MemoryPressure");
            notes.pressure.disk = is("DiskPressure");
            notes.pressure.pids = is("PIDPressure");
        });
        self.tools.cgroups.weigh(self.tools.roster.all().iter().map(|seen| &*seen.pod));
        let pods: Vec<Seen> = self.tools.roster.all().into_iter().filter(Seen::is_active).collect();
        if self.beyond_limits(&pods).await {
            return true;
        }
        let Some(threshold) = shortage.urgent.first() else { return false };
        self.tell_node(threshold);
        if threshold.signal.is_disk() && self.reclaim().await && !self.is_short(threshold) {
            return false;
        }
        self.evict_one(pods, threshold, &seen).await
    }

    /// Those that keep more files than they may. Only those that have a limit are measured.
    async fn beyond_limits(&self, pods: &[Seen]) -> bool {
        let limited: Vec<Seen> = pods.iter().filter(|seen| limits::any(&seen.pod)).cloned().collect();
        if limited.is_empty() {
            return false;
        }
        let measured = self.meter.measure_those(limited.clone(), Depth::Files).await;
        let mut gone = Vec::new();
        for (seen, used) in limited.iter().zip(&measured.pods) {
            if let Some(why) = limits::exceeded(&seen.pod, used)
                && self.evict(seen, why, AT_ONCE, "limit").await
            {
                gone.push(seen.clone());
            }
        }
        self.until_gone(&gone).await;
        !gone.is_empty()
    }

    async fn evict_one(&self, pods: Vec<Seen>, threshold: &Threshold, seen: &Observations) -> bool {
        let depth = if threshold.signal.is_disk() { Depth::Files } else { Depth::Processes };
        let Measured { pods: used, .. } = self.meter.measure_those(pods.clone(), depth).await;
        let candidates = pods.iter().zip(&used).map(|(seen, used)| Candidate {
            pod: &seen.pod,
            used: Some(used).filter(|used: &&PodUse| used.used.is_some()),
        });
        let own_images = !self.shares_disk();
        let ranked = rank(candidates.collect(), threshold.signal, own_images);
        for candidate in ranked {
            let Some(found) = pods.iter().find(|seen| std::ptr::eq(&*seen.pod, candidate.pod)) else {
                continue;
            };
            let why = message::low(threshold, seen, candidate.pod, candidate.used);
            let spec = candidate.pod.spec.as_ref();
            let asked = spec.and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(30);
            let grace = if threshold.is_hard() { AT_ONCE } else { SignedDuration::from_secs(asked) };
            if self.evict(found, why, grace, threshold.signal.name()).await {
                self.until_gone(std::slice::from_ref(found)).await;
                return true;
            }
        }
        tracing::warn!(
            "the node is low on {}, and there is no pod that could go",
            threshold.signal.resource()
        );
        false
    }

    /// False if it may not go.
    async fn evict(&self, seen: &Seen, why: String, grace: SignedDuration, signal: &'static str) -> bool {
        let uid = seen.pod.metadata.uid.as_deref().unwrap_or_default();
        if is_critical(&seen.pod) || self.registry.verdict(uid).is_some() {
            return false;
        }
        self.tools.tell(&seen.pod, Severity::Warning, "Evicted", why.clone());
        let verdict = Verdict { grace: Some(grace), ..Verdict::new("Evicted", why) };
        if !self.registry.condemn(uid, verdict) {
            return false;
        }
        self.meter.count_eviction(signal);
        true
    }

    async fn until_gone(&self, pods: &[Seen]) {
        let end = self.tools.steady.now().saturating_add(CLEANING).unwrap_or(jiff::Timestamp::MAX);
        let is_there = || {
            let all = self.tools.roster.all();
            pods.iter().any(|gone| {
                all.iter().any(|seen| {
                    seen.pod.metadata.uid == gone.pod.metadata.uid && seen.view.running().next().is_some()
                })
            })
        };
        while is_there() && self.tools.steady.now() < end {
            self.tools.clock.sleep(ASK).await;
        }
    }

    /// Gives back what no pod would miss.
    async fn reclaim(&self) -> bool {
        let removed = self.tools.collector.remove_unused(&self.tools).await;
        if let Err(error) = &removed {
            tracing::warn!(%error, "cannot give back what images take");
        }
        removed.is_ok()
    }

    fn is_short(&self, threshold: &Threshold) -> bool {
        let seen = observations(&self.meter.node(self.tools.steady.now()));
        seen.get(&threshold.signal).is_some_and(|observed| threshold.is_passed(observed))
    }

    fn shares_disk(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let device = |path: &std::path::Path| std::fs::metadata(path).ok().map(|meta| meta.dev());
        device(self.meter.images()) == device(self.tools.folders.pods())
    }

    fn tell_node(&self, threshold: &Threshold) {
        let Some(node) = self.tools.node.borrow().clone() else { return };
        self.tools.voice.say(Note {
            about: Target::of(&*node),
            part: String::new(),
            severity: Severity::Warning,
            reason: "EvictionThresholdMet",
            message: format!("Attempting to reclaim {}", threshold.signal.resource()),
        });
    }
}

fn observations(node: &NodeUse) -> Observations {
    let signed = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
    let of =
        |available: u64, capacity: u64| Observed { available: signed(available), capacity: signed(capacity) };
    let working_set = node.used.sample.memory.map_or(0, |memory| memory.working_set);
    let mut all = Observations::new();
    let mut add = |signal, observed: Observed| {
        // What could not be measured is not short.
        if observed.capacity > 0 {
            all.insert(signal, observed);
        }
    };
    add(Signal::Memory, of(node.memory.saturating_sub(working_set), node.memory));
    // A part of a disk may be set aside for others; a share of what there is, is one of what can be had.
    let usable = |disk: &Disk| of(disk.available, disk.used.saturating_add(disk.available));
    add(Signal::NodeDisk, usable(&node.disk));
    add(Signal::NodeInodes, of(node.disk.inodes_free, node.disk.inodes));
    add(Signal::ImageDisk, usable(&node.images));
    add(Signal::ImageInodes, of(node.images.inodes_free, node.images.inodes));
    add(Signal::Processes, of(node.counts.most.saturating_sub(node.counts.now), node.counts.most));
    all
}
