//! From the old template to the new one, within what the strategy allows: by taking old pods away, or by putting new ones
//! beside them first.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use std::sync::Arc;

use super::keeping::Steps;
use super::nodes::{Nodes, Spot, is_available};
use super::pods::Version;
use super::spelling::slack;

pub(super) fn steps(set: &DaemonSet, nodes: &Nodes, version: &Version, now: Timestamp) -> Steps {
    let (surge, missing) = slack(set, nodes.meant());
    if surge == 0 {
        replace(set, nodes, version, missing, now)
    } else {
        surpass(set, nodes, version, surge, now)
    }
}

/// The new and the old pod of a node.
type Pair<'a> = (Option<&'a Arc<Pod>>, Option<&'a Arc<Pod>>);

/// Nothing if there are several of one sort, which have to be sorted out first.
fn pair<'a>(spot: &'a Spot, version: &Version) -> Option<Pair<'a>> {
    let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = spot.staying().partition(|pod| version.is_of(pod));
    (new.len() <= 1 && old.len() <= 1).then(|| (new.first().copied(), old.first().copied()))
}

/// Nodes that matter: those that should have a pod, and those that have one.
fn concerned(nodes: &Nodes) -> impl Iterator<Item = &Spot> {
    nodes.spots.iter().filter(|spot| spot.is_meant() || !spot.pods.is_empty())
}

/// Old pods that don't work go at once, others only as far as enough are left.
fn replace(set: &DaemonSet, nodes: &Nodes, version: &Version, missing: usize, now: Timestamp) -> Steps {
    let mut steps = Steps::default();
    let mut unavailable = 0;
    let mut working = Vec::new();
    for spot in concerned(nodes) {
        match pair(spot, version) {
            Some((None, Some(old))) if is_available(set, old, now) => working.push(old),
            Some((None, Some(old))) => {
                steps.delete(old);
                unavailable += 1;
            }
            Some((Some(new), None)) if is_available(set, new, now) => {}
            _ => unavailable += 1,
        }
    }
    working.into_iter().take(missing.saturating_sub(unavailable)).for_each(|old| steps.delete(old));
    steps
}

/// New pods are put beside old ones, on as many nodes at a time as allowed; an old one goes when its new one works.
fn surpass(set: &DaemonSet, nodes: &Nodes, version: &Version, surge: usize, now: Timestamp) -> Steps {
    let mut steps = Steps::default();
    let (mut surging, mut available) = (0, 0);
    let (mut candidates, mut misplaced) = (Vec::new(), Vec::new());
    for spot in concerned(nodes) {
        let Some((new, old)) = pair(spot, version) else {
            surging += 1;
            continue;
        };
        let works = |pod: &&Arc<Pod>| is_available(set, pod, now);
        available += usize::from(old.or(new).as_ref().is_some_and(works));
        match (new, old) {
            (_, None) => {}
            (Some(new), Some(old)) if works(&new) => steps.delete(old),
            (Some(_), Some(_)) => surging += 1,
            (None, Some(old)) if spot.is_meant() && works(&old) => candidates.push(spot),
            (None, Some(_)) if spot.is_meant() => steps.make(&spot.node),
            (None, Some(old)) if works(&old) => misplaced.push(old),
            (None, Some(old)) => steps.delete(old),
        }
    }
    // Where it is no longer meant to be, a pod stays until there are enough where it is.
    let spare = available.saturating_sub(nodes.meant());
    misplaced.into_iter().take(spare).for_each(|old| steps.delete(old));
    candidates.into_iter().take(surge.saturating_sub(surging)).for_each(|spot| steps.make(&spot.node));
    steps
}
