//! What every pod's life on this node is driven with.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_clock::Clock;
use kedge_engine::{Carrier, Note, Severity, Target, World};
use kedge_images::{Keyring, Store};
use kedge_kinds::Quantity;
use kedge_mounts::Mounts;
use kedge_runtime::Runtime;
use kube::Client;
use tokio::sync::watch;

use crate::board::Board;
use crate::cgroups::Cgroups;
use crate::collect::Collector;
use crate::cpus::Cpus;
use crate::folders::Folders;
use crate::guard::Guard;
use crate::memory::Memory;
use crate::mirrors::Mirrors;
use crate::plan::Situation;
use crate::probes::Tally;
use crate::pulled::Pulled;
use crate::pulls::Pulls;
use crate::resolver::Resolver;
use crate::roster::Roster;
use crate::spec::env::Place;
use crate::spec::resources::Machine;
use crate::spec::sandbox::Common;
use crate::users::Ranges;
use crate::view::View;
use crate::voice::Voice;
use crate::volumes::Watches;

pub(crate) struct Tools {
    pub(crate) client: Client,
    /// What people see; it may be set, forward or back.
    pub(crate) clock: Clock,
    /// Only counts: for everything that is waited for.
    pub(crate) steady: Clock,
    pub(crate) world: World,
    pub(crate) runtime: Runtime,
    pub(crate) mounts: Mounts,
    pub(crate) folders: Folders,
    /// Of the objects that volumes are made of.
    pub(crate) watches: Watches,
    pub(crate) voice: Voice,
    pub(crate) carrier: Carrier,
    pub(crate) common: Common,
    /// How the node finds names.
    pub(crate) resolver: Resolver,
    pub(crate) place: Place,
    /// What the node has to give.
    pub(crate) allocatable: Arc<HashMap<String, Quantity>>,
    /// Where pods are counted and limited.
    pub(crate) cgroups: Cgroups,
    pub(crate) machine: Arc<Machine>,
    /// Who has CPUs to himself.
    pub(crate) cpus: Cpus,
    /// Who is told of a pod's addresses before it runs.
    pub(crate) guard: Option<Guard>,
    /// All pods that are here.
    pub(crate) roster: Roster,
    /// Settings of the kernel that pods may change although others feel it.
    pub(crate) unsafe_sysctls: Vec<String>,
    /// What is to be told of this node.
    pub(crate) board: Board,
    /// This node's object as it was last seen.
    pub(crate) node: watch::Sender<Option<Arc<Node>>>,
    /// The image store of a containerd of our own.
    pub(crate) blobs: Option<Store>,
    /// The credentials that every pod may use.
    pub(crate) keyring: Keyring,
    pub(crate) pulls: Pulls,
    pub(crate) pulled: Pulled,
    pub(crate) mirrors: Mirrors,
    pub(crate) collector: Collector,
    pub(crate) tally: Tally,
    /// Who has users of his own.
    pub(crate) ranges: Ranges,
}

impl Tools {
    /// What the node has, in bytes.
    pub(crate) fn memory(&self) -> i64 {
        self.allocatable.get("memory").map_or(0, Quantity::value)
    }

    /// What a sandbox that is made now has in common with all others.
    pub(crate) fn common(&self) -> Common {
        Common { node_dns: self.resolver.read(&self.common.cluster_dns), ..self.common.clone() }
    }

    /// What is written down for people has this time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A pod as it is at this moment.
    pub(crate) fn situation<'a>(&self, pod: &'a Pod, view: &'a View, memory: &'a Memory) -> Situation<'a> {
        Situation { pod, view, memory, now: self.clock.now(), steady: self.steady.now() }
    }

    /// Something that people should read about a pod.
    pub(crate) fn tell(&self, pod: &Pod, severity: Severity, reason: &'static str, message: String) {
        self.tell_of(pod, String::new(), severity, reason, message);
    }

    /// Something that people should read about a part of a pod.
    pub(crate) fn tell_of(
        &self,
        pod: &Pod,
        part: String,
        severity: Severity,
        reason: &'static str,
        message: String,
    ) {
        let note = Note { about: Target::of(pod), part, severity, reason, message };
        self.voice.say(note);
    }
}

/// How an event names one container of a pod.
pub(crate) fn part(pod: &Pod, container: &str) -> String {
    let spec = pod.spec.as_ref();
    let is_init = spec
        .and_then(|spec| spec.init_containers.as_ref())
        .is_some_and(|init| init.iter().any(|init| init.name == container));
    let is_debugging = spec
        .and_then(|spec| spec.ephemeral_containers.as_ref())
        .is_some_and(|all| all.iter().any(|debugging| debugging.name == container));
    match (is_init, is_debugging) {
        (true, _) => format!("spec.initContainers{{{container}}}"),
        (_, true) => format!("spec.ephemeralContainers{{{container}}}"),
        _ => format!("spec.containers{{{container}}}"),
    }
}
