//! Who goes first: whoever uses more than he asked for, then whoever matters less, then whoever uses most beyond what he asked
//! for.

use std::cmp::Reverse;

use k8s_openapi::api::core::v1::Pod;
use kedge_kinds::Quantity;

use super::threshold::Signal;
use crate::spec::resources::requests;
use crate::usage::PodUse;

/// A pod with what it uses, if that is known.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) used: Option<&'a PodUse>,
}

/// The first to go first. Images on a disk of their own leave only what containers write to the other.
pub(super) fn rank<'a>(mut pods: Vec<Candidate<'a>>, signal: Signal, own_images: bool) -> Vec<Candidate<'a>> {
    pods.sort_by_cached_key(|candidate| {
        let priority = candidate.pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
        let over = candidate.used.map(|used| over(candidate.pod, used, signal, own_images));
        match signal {
            Signal::Processes => {
                let count = candidate.used.and_then(|used| used.processes).unwrap_or(0);
                (candidate.used.is_some(), false, priority, Reverse(i64::try_from(count).unwrap_or(i64::MAX)))
            }
            // Of whom nothing is known, goes before all others.
            _ => (over.is_some(), over.is_some_and(|over| over <= 0), priority, Reverse(over.unwrap_or(0))),
        }
    });
    pods
}

/// How much more than it asked for a pod uses.
fn over(pod: &Pod, used: &PodUse, signal: Signal, own_images: bool) -> i64 {
    let asked = |resource: &str| requests(pod).get(resource).map_or(0, Quantity::value);
    let signed = |amount: u64| i64::try_from(amount).unwrap_or(i64::MAX);
    let disk = |inodes: bool| {
        let of_images = matches!(signal, Signal::ImageDisk | Signal::ImageInodes);
        let (roots, rest) = if own_images { (of_images, !of_images) } else { (true, true) };
        let stored = used.stored(roots, rest);
        signed(if inodes { stored.inodes } else { stored.bytes })
    };
    match signal {
        Signal::Memory => signed(used.working_set().unwrap_or(0)) - asked("memory"),
        Signal::NodeDisk | Signal::ImageDisk => disk(false) - asked("ephemeral-storage"),
        Signal::NodeInodes | Signal::ImageInodes => disk(true),
        Signal::Processes => 0,
    }
}
