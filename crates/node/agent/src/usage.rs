//! What the node, its pods and their containers use, measured when somebody asks. What others read of it is written in
//! `summary`, `resource` and `containers`, all pure.

mod containers;
mod far;
mod figures;
mod meter;
mod probes;
mod resource;
mod summary;
mod text;

use jiff::{SignedDuration, Timestamp};
use kedge_usage::{Counts, Disk, Interface, Sample, Stored};

pub(crate) use self::figures::Told;
pub(crate) use self::meter::{Depth, Meter};

/// Everything at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) at: Timestamp,
    pub(crate) node: NodeUse,
    pub(crate) pods: Vec<PodUse>,
}

/// Counters since the start, and how fast the CPU's grows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Use {
    pub(crate) sample: Sample,
    /// Of a core's second, per second, in billionths.
    pub(crate) nano_cores: Option<u64>,
    /// The time over which that was measured.
    pub(crate) window: Option<SignedDuration>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct NodeUse {
    pub(crate) name: String,
    pub(crate) since: Option<Timestamp>,
    pub(crate) used: Use,
    /// All that there is, in bytes.
    pub(crate) memory: u64,
    pub(crate) swap: (u64, u64),
    pub(crate) disk: Disk,
    /// Where images are, and what they take.
    pub(crate) images: Disk,
    pub(crate) images_used: Stored,
    pub(crate) counts: Counts,
    pub(crate) network: Vec<Interface>,
    /// All pods together, and what looks after them.
    pub(crate) parts: Vec<(&'static str, Use)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PodUse {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) since: Option<Timestamp>,
    pub(crate) path: String,
    pub(crate) used: Option<Use>,
    pub(crate) network: Vec<Interface>,
    pub(crate) processes: Option<u64>,
    pub(crate) containers: Vec<ContainerUse>,
    pub(crate) volumes: Vec<VolumeUse>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ContainerUse {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) image: String,
    pub(crate) since: Option<Timestamp>,
    pub(crate) path: String,
    pub(crate) used: Option<Use>,
    /// What it wrote over its image, and to its log.
    pub(crate) root: Option<Stored>,
    pub(crate) logs: Option<Stored>,
    pub(crate) shares: i64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct VolumeUse {
    pub(crate) name: String,
    pub(crate) stored: Stored,
    pub(crate) disk: Disk,
    /// It is on the node's disk and goes with the pod.
    pub(crate) is_ephemeral: bool,
}

impl PodUse {
    pub(crate) fn working_set(&self) -> Option<u64> {
        Some(self.used.as_ref()?.sample.memory?.working_set)
    }

    /// What it keeps on the node's disk: over its images, and elsewhere.
    pub(crate) fn stored(&self, roots: bool, rest: bool) -> Stored {
        let mut sum = Stored::default();
        for container in &self.containers {
            for (wanted, part) in [(roots, container.root), (rest, container.logs)] {
                if wanted {
                    sum += part.unwrap_or_default();
                }
            }
        }
        if rest {
            let volumes = self.volumes.iter().filter(|volume| volume.is_ephemeral);
            volumes.for_each(|volume| sum += volume.stored);
        }
        sum
    }
}

impl ContainerUse {
    pub(crate) fn working_set(&self) -> Option<u64> {
        Some(self.used.as_ref()?.sample.memory?.working_set)
    }
}

#[cfg(test)]
mod tests;
