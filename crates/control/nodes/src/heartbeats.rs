//! When each node was last heard: by its lease, or by its status. Judges by our own clock alone, since a node's may be
//! wrong: what counts is that a heartbeat differs from the one before.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kedge_clock::Clock;
use kedge_engine::{Key, NotReady, World};
use kube::ResourceExt;

use crate::facts::{NodeFacts, after};
use crate::since::Since;

pub(crate) const LEASES: &str = "kube-node-lease";
pub(crate) const STOPPED: &str = "NodeStatusUnknown";
pub(crate) const NEVER: &str = "NodeStatusNeverUpdated";
/// How long a node may be silent that has been heard, unless somebody says otherwise, and how long one that is new, in seconds.
pub(crate) const GRACE: i64 = 50;
const STARTUP_GRACE: i64 = 60;

/// Shared by everyone who judges by silence, so that all judge alike.
#[derive(Debug)]
pub(crate) struct Heartbeats {
    last: Since<String, Heartbeat>,
    grace: i64,
    /// What silence is counted by. The clock that people see may be set, and no node is silent for that.
    steady: Option<Clock>,
}

/// What changes while a node lives.
#[derive(Debug, PartialEq)]
struct Heartbeat {
    renewed: Option<Timestamp>,
    reported: Option<Timestamp>,
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self::new(GRACE)
    }
}

impl Heartbeats {
    /// A node may be silent for so many seconds.
    pub(crate) fn new(grace: i64) -> Self {
        Self { last: Since::default(), grace, steady: None }
    }

    /// Counts by what the clock counts, not by what it shows.
    pub(crate) fn by(mut self, clock: &Clock) -> Self {
        self.steady = Some(clock.steady());
        self
    }

    /// The moment at which the node counts as silent unless it is heard before.
    pub(crate) fn until(&self, node: &Node, world: &World, now: Timestamp) -> Result<Timestamp, NotReady> {
        let lease = world.get::<Lease>(&Key::new(LEASES, node.name_any()))?;
        let renewed = lease.and_then(|lease| lease.spec.as_ref()?.renew_time.as_ref().map(|time| time.0));
        let ready = node.condition("Ready");
        let ours = |reason: &str| ready.is_some_and(|ready| ready.reason.as_deref() == Some(reason));
        // The node never wrote a condition that says so.
        let reported = ready.filter(|_| !ours(NEVER)).and_then(|ready| ready.last_heartbeat_time.as_ref());
        let reported = reported.map(|time| time.0);
        let first = if node.readiness() == Some("Unknown") && (ours(STOPPED) || ours(NEVER)) {
            // Somebody found it silent before we began to listen.
            Timestamp::MIN
        } else if ready.is_none() && renewed.is_none() {
            node.creation_timestamp().map_or(now, |time| time.0)
        } else {
            now
        };
        let uid = node.uid().unwrap_or_default();
        let ahead =
            self.steady.as_ref().map_or(SignedDuration::ZERO, |steady| now.duration_since(steady.now()));
        let counted = |shown: Timestamp| shown.saturating_sub(ahead).unwrap_or(shown);
        let heard = self.last.at(&uid, Heartbeat { renewed, reported }, counted(first), counted(now));
        let heard = heard.saturating_add(ahead).unwrap_or(heard);
        Ok(after(heard, if ready.is_none() { STARTUP_GRACE.max(self.grace) } else { self.grace }))
    }
}
