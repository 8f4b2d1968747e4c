//! How fast a container may hear and speak: limits that the runtime reads from a pod's annotations.

use kedge_netlink::qdisc::Pace;
use serde::{Deserialize, Serialize};

/// Below it a limit is a mistake, and a link could not send at all.
const LEAST_BITS: u64 = 1_000;
/// What may go at once after a pause: as much as in this part of a second, but at least a few packets. Runtimes ask for far more
/// where nobody asked for anything, and a limit that is reached only after half a gigabyte is none.
const BURST_OF_SECOND: u64 = 10;
const LEAST_BURST: u64 = 64 * 1024;
/// Packets wait no longer than this part of a second.
const WAIT_OF_SECOND: u64 = 40;

/// In bits and bits a second; zero is no limit. Written either way: containerd begins each word with a capital.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Limits {
    #[serde(alias = "IngressRate")]
    ingress_rate: u64,
    #[serde(alias = "IngressBurst")]
    ingress_burst: u64,
    #[serde(alias = "EgressRate")]
    egress_rate: u64,
    #[serde(alias = "EgressBurst")]
    egress_burst: u64,
}

impl Limits {
    /// Of what the container hears.
    pub(crate) fn towards(&self) -> Option<Pace> {
        pace(self.ingress_rate, self.ingress_burst)
    }

    /// Of what it says.
    pub(crate) fn from(&self) -> Option<Pace> {
        pace(self.egress_rate, self.egress_burst)
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn is_sound(&self) -> bool {
        [self.ingress_rate, self.egress_rate].iter().all(|rate| *rate == 0 || *rate >= LEAST_BITS)
    }
}

fn pace(rate: u64, burst: u64) -> Option<Pace> {
    let rate = (rate > 0).then_some(rate / 8)?;
    let usual = (rate / BURST_OF_SECOND).max(LEAST_BURST);
    let burst = if burst == 0 { usual } else { (burst / 8).clamp(LEAST_BURST, usual) };
    let waiting = burst + rate / WAIT_OF_SECOND;
    let number = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    Some(Pace { rate, burst: number(burst), waiting: number(waiting) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_runtimes_write_them() {
        let read = |text: &str| serde_json::from_str::<Limits>(text).unwrap();
        let containerd =
            read(r#"{"IngressRate":8000000,"IngressBurst":4294967295,"EgressRate":0,"EgressBurst":0}"#);
        let pace = containerd.towards().unwrap();
        assert_eq!((pace.rate, pace.burst, pace.waiting), (1_000_000, 100_000, 125_000));
        assert_eq!(containerd.from(), None);
        let spec = read(r#"{"egressRate":800000,"egressBurst":8}"#);
        assert_eq!(spec.from().map(|pace| (pace.rate, pace.burst)), Some((100_000, 65_536)));
        assert!(spec.is_sound() && !read(r#"{"egressRate":7}"#).is_sound());
        assert_eq!(read("{}"), Limits::default());
    }
}
