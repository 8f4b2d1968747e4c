//! The probes of a pod's containers: which there are, when each is due, what its answers add up to, and how one is tried. A
//! pod without probes costs nothing.

mod attempt;
mod courses;
mod tally;

use k8s_openapi::api::core::v1::{Container, Probe};

pub(crate) use self::attempt::{attempt, page, run};
pub(crate) use self::courses::{Courses, Tried};
pub(crate) use self::tally::Tally;

/// What a probe is asked for. The order is the one in which they count: nothing else is asked before a container has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Startup,
    Liveness,
    Readiness,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Startup, Self::Liveness, Self::Readiness];

    pub(crate) fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_ref(),
            Self::Liveness => container.liveness_probe.as_ref(),
            Self::Readiness => container.readiness_probe.as_ref(),
        }
    }

    /// As events begin.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }

    /// Within a sentence.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Liveness => "liveness",
            Self::Readiness => "readiness",
        }
    }
}
