//! Who is killed first when the machine runs out of memory: whoever keeps to his requests goes last.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};

use super::{NOTHING, Qos, whole};
use crate::plan::is_sidecar;

const LAST: i64 = -997;
const FIRST: i64 = 1000;
const NODE_CRITICAL: &str = "system-node-critical";
const CRITICAL: i32 = 2_000_000_000;

/// The higher, the sooner. `memory` is what the machine has.
pub(super) fn score(pod: &Pod, container: &Container, memory: i64) -> i64 {
    let spec = pod.spec.as_ref();
    let is_critical = spec.is_some_and(|spec| {
        spec.priority.is_some_and(|priority| priority >= CRITICAL)
            && spec.priority_class_name.as_deref() == Some(NODE_CRITICAL)
    });
    match Qos::of(pod) {
        _ if is_critical => LAST,
        Qos::Guaranteed => LAST,
        Qos::BestEffort => FIRST,
        Qos::Burstable if memory <= 0 => FIRST - 1,
        Qos::Burstable => {
            let extra = spec.map_or(0, spare);
            let of = |request: i64| 1000 - i128::from(request + extra) * 1000 / i128::from(memory);
            let mut score = of(request(container));
            if is_sidecar(container) {
                // It must not go before those that it serves.
                let mains = spec.into_iter().flat_map(|spec| &spec.containers).map(request).min();
                score = score.min(of(mains.unwrap_or(0)));
            }
            // Below the guaranteed ones and above the others, whatever it asks for.
            i64::try_from(score).unwrap_or(0).clamp(FIRST + LAST, FIRST - 1)
        }
    }
}

fn request(container: &Container) -> i64 {
    whole(container.resources.as_ref().unwrap_or(&NOTHING).requests.as_ref(), "memory")
}

/// Each container's part of what the pod asks for beyond its containers.
fn spare(spec: &PodSpec) -> i64 {
    let own = whole(spec.resources.as_ref().and_then(|own| own.requests.as_ref()), "memory");
    if own == 0 {
        return 0;
    }
    let sidecars = spec.init_containers.iter().flatten().filter(|container| is_sidecar(container));
    let all: Vec<i64> = spec.containers.iter().chain(sidecars).map(request).collect();
    let count = i64::try_from(all.len()).unwrap_or(1).max(1);
    (own - all.iter().sum::<i64>()).max(0) / count
}
