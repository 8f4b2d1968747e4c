//! What the agent knows of a pod besides what the runtime shows: what is under way, what failed and when to try again, what the
//! probes say. An agent that starts anew knows none of it and finds out again.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};

const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(10);
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(300);

#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// When this node first saw the pod.
    pub(crate) begun: Option<Timestamp>,
    /// Containers for which something is being done, by name; the sandbox has none.
    pub(crate) busy: HashSet<String>,
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
}

/// A container that cannot be made or started now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// `ErrImagePull`, `CreateContainerConfigError`…
    pub(crate) reason: String,
    pub(crate) message: String,
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
    /// A liveness or startup probe that failed for good, and what it said.
    pub(crate) dead: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) reason: String,
    pub(crate) message: String,
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
