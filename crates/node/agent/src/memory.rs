//! What the agent knows of a pod besides what the runtime shows: what is under way, what failed and when to try again, what the
//! probes say. An agent that starts anew knows none of it and finds out again.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ResourceRequirements;

use crate::probes::Kind;

const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(300);

#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// When this node first saw the pod.
    pub(crate) begun: Option<Timestamp>,
    /// Containers for which something is being done, by name; the sandbox has none.
    pub(crate) busy: HashMap<String, Doing>,
    /// Why a container is not there yet, by name.
    pub(crate) troubles: HashMap<String, Trouble>,
    /// How long to wait before a container is made again, by name.
    pub(crate) pauses: HashMap<String, Pause>,
    /// How long was last waited after a failure, by name; the sandbox has none.
    pub(crate) waits: HashMap<String, SignedDuration>,
    /// What probes found out, by the container's id.
    pub(crate) probed: HashMap<String, Probed>,
    /// The sandbox cannot be made.
    pub(crate) sandbox_trouble: Option<Trouble>,
    /// Why the pod has to go although nobody deleted it: evicted, too late.
    pub(crate) verdict: Option<Verdict>,
    /// Since when the pod is ending; all its containers share one grace.
    pub(crate) leaving: Option<Timestamp>,
    /// What each container may have, by name; what the pod asks for may be more than there is.
    pub(crate) granted: HashMap<String, ResourceRequirements>,
    /// What a running container was told that it may have, by its id.
    pub(crate) applied: HashMap<String, ResourceRequirements>,
    /// The same of the pod as a whole, where it asks for something itself.
    pub(crate) granted_to_all: Option<ResourceRequirements>,
    pub(crate) applied_to_all: Option<ResourceRequirements>,
    /// What a container that is being made was given, by name.
    pub(crate) given: HashMap<String, ResourceRequirements>,
    /// The generation of the pod whose other amounts are being applied.
    pub(crate) resizing: Option<Option<i64>>,
    /// Why the pod does not have what it asks for.
    pub(crate) pending: Option<Pending>,
    /// Other amounts could not be applied: what the runtime said, and when to try again.
    pub(crate) unapplied: Option<Trouble>,
}

/// What is being done for a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Its image is fetched, it is made, started, and told of its start.
    Starting,
    /// It is asked to end, and made to at this moment.
    Ending { until: Timestamp },
    /// Something short.
    Else,
}

/// Other amounts that a pod asks for and does not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// `Deferred` may fit later, `Infeasible` never will.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// Of the pod that asked.
    pub(crate) generation: Option<i64>,
}

/// A container that cannot be made or started now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// `ErrImagePull`, `CreateContainerConfigError`…
    pub(crate) reason: String,
    pub(crate) message: String,
    /// The image that cannot be had, if it is that: the container's own, or one that it mounts.
    pub(crate) image: Option<String>,
    pub(crate) since: Timestamp,
    pub(crate) again_at: Timestamp,
}

/// The first time it comes back at once; then each end makes the pause longer, and a long life makes it short again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    pub(crate) length: SignedDuration,
    pub(crate) until: Timestamp,
}

impl Pause {
    /// The pause after an end at `ended`, given the one before it.
    pub(crate) fn after(before: Option<Self>, ran: SignedDuration, ended: Timestamp) -> Self {
        let length = match before {
            Some(before) if ran < LONGEST_PAUSE.saturating_mul(2) => {
                before.length.saturating_mul(2).clamp(FIRST_PAUSE, LONGEST_PAUSE)
            }
            _ => SignedDuration::ZERO,
        };
        Self { length, until: ended.saturating_add(length).unwrap_or(Timestamp::MAX) }
    }
}

/// Unknown until a probe has answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Probed {
    pub(crate) started: Option<bool>,
    pub(crate) ready: Option<bool>,
    /// Which probe failed for good.
    pub(crate) dead: Option<Kind>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) reason: String,
    pub(crate) message: String,
    /// How long its containers may take to end, if not as long as the pod says.
    pub(crate) grace: Option<SignedDuration>,
}

impl Verdict {
    pub(crate) fn new(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into(), grace: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_a_long_life_forgets_them() {
        let noon: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
        let secs = SignedDuration::from_secs;
        let mut pause = None;
        let mut lengths = Vec::new();
        for _ in 0..8 {
            pause = Some(Pause::after(pause, secs(1), noon));
            lengths.extend(pause.map(|pause| pause.length.as_secs()));
        }
        assert_eq!(lengths, [0, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(Pause::after(pause, secs(601), noon).length, SignedDuration::ZERO);
    }
}
