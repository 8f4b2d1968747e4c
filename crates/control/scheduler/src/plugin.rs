//! What a plugin is: a filter says where a pod can't run, a score which place is better, a step before binding what else must
//! be true first. All of them are pure: they look at the cluster that they are given. Knows no plugin by name.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kedge_engine::{Action, NotReady};

use crate::cluster::Cluster;
use crate::node::{Node, NodeFacts};
use crate::pod::PodView;

/// The best score that a node can get from one plugin.
pub const MAX_SCORE: i64 = 100;

/// Why a node (or every node) is out of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub reason: Cow<'static, str>,
    /// Further reasons, each of which is counted like the first.
    pub more: Vec<Cow<'static, str>>,
    /// Whether it could be resolved by removing pods.
    pub resolvable: bool,
}

impl Rejection {
    /// One that the removal of pods may resolve.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into(), more: Vec::new(), resolvable: true }
    }

    /// One that no removal of pods resolves.
    pub fn lasting(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { resolvable: false, ..Self::new(reason) }
    }

    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.reason).chain(self.more.iter().map(|reason| &**reason))
    }
}

/// Why a filter can't even begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whole {
    /// It has nothing to say about this pod.
    Skip,
    /// No node will do.
    Reject(Rejection),
    /// It can't be known yet; the pod is tried again.
    NotReady(NotReady),
}

impl From<NotReady> for Whole {
    fn from(error: NotReady) -> Self {
        Self::NotReady(error)
    }
}

/// Something that happened and that may help a pod which found no place.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    NodeAdded(&'a Node),
    NodeChanged {
        before: &'a NodeFacts,
        now: &'a Node,
    },
    NodeGone(&'a str),
    /// A pod is on a node now that was not before, ours or anybody's.
    PodPlaced(&'a PodView),
    /// A pod on a node has other labels, or is smaller than before.
    PodChanged {
        before: &'a PodView,
        now: &'a PodView,
    },
    /// A pod left its node, ended there, or is no longer nominated.
    PodGone(&'a PodView),
    /// An object of a kind of storage came or changed: `PersistentVolumeClaim`, `PersistentVolume`, `StorageClass`,
    /// `CSINode`, `CSIDriver`, `CSIStorageCapacity`, `VolumeAttachment`.
    Storage {
        kind: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    /// A namespace has other labels.
    Namespace(&'a str),
}

pub trait Filter: Send + Sync {
    fn name(&self) -> &'static str;

    /// Looks once at what is the same for all nodes.
    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole>;

    /// Whether a pod that this filter rejected somewhere is worth another try after this change. Too often is only slow;
    /// too seldom leaves the pod waiting for minutes.
    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool;

    /// Whether such a change can help anybody at all. Pods are placed by the thousand, and only few look for company.
    fn minds(&self, change: &Change<'_>) -> bool {
        !matches!(change, Change::PodPlaced(_))
    }
}

pub trait PreparedFilter {
    fn check(&self, node: &Node) -> Result<(), Rejection>;

    /// The only nodes that can pass, if they are known by name.
    fn only(&self) -> Option<BTreeSet<String>> {
        None
    }

    /// What if this pod were on this node as well? `node` itself is already as it would be then.
    fn add(&mut self, _pod: &PodView, _node: &Node) {}

    /// What if this pod were not on this node?
    fn remove(&mut self, _pod: &PodView, _node: &Node) {}
}

pub trait Score: Send + Sync {
    fn name(&self) -> &'static str;

    /// Looks once at what is the same for all nodes; `nodes` are those that passed the filters. `None` if it has no opinion.
    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
        nodes: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>>;
}

pub trait PreparedScore {
    /// Any number if `normalize` makes it one from 0 to `MAX_SCORE`.
    fn score(&self, node: &Node) -> i64;

    /// All scores, in the order of the nodes given to `prepare`.
    fn normalize(&self, _scores: &mut [i64]) {}
}

/// What else must be true before a pod is bound to the node that was chosen.
pub trait PreBind: Send + Sync {
    fn name(&self) -> &'static str;

    fn look(&self, pod: &PodView, node: &Node, cluster: &Cluster) -> Result<Before, NotReady>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// Nothing is missing.
    Bind,
    /// This has to be done first (if it isn't yet); the pod is looked at again when `Filter::helped_by` of the same plugin
    /// says so.
    Await(Vec<Action>),
}

/// The scores turned round and stretched so that the highest becomes `MAX_SCORE`, or with `reverse`, zero.
pub fn stretch(scores: &mut [i64], reverse: bool) {
    let highest = scores.iter().copied().max().unwrap_or_default();
    for score in scores {
        let part = if highest == 0 { 0 } else { MAX_SCORE * *score / highest };
        *score = if reverse { MAX_SCORE - part } else { part };
    }
}
