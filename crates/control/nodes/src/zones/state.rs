//! How much of each zone is unready, and how fast its nodes may lose their pods then.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::facts::NodeFacts;

/// Seconds between two nodes of a zone, as a rule and where much of a large zone is unready.
const USUAL: i64 = 10;
const SLOW: i64 = 100;
/// A zone with more nodes is large.
const LARGE: usize = 50;
/// Of a hundred nodes, how many must be unready for a zone to be disrupted; and more than this many of all.
const UNHEALTHY_PERCENT: usize = 55;
const UNHEALTHY: usize = 2;
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// One node at a time, with so many seconds in between.
    Every(i64),
    /// No more than there are.
    Stopped,
    /// Not even those that there are: nobody is ready anywhere, so nothing would be gained.
    Suspended,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Normal,
    Partial { large: bool },
    Full,
}

/// Whether a node has a say in how its zone is.
pub(super) fn counts(node: &Node) -> bool {
    !node.labels().contains_key(EXCLUDED)
}

pub(super) fn paces(zones: &BTreeMap<String, Vec<Arc<Node>>>) -> BTreeMap<String, Pace> {
    let states: BTreeMap<&String, Option<State>> =
        zones.iter().map(|(zone, nodes)| (zone, state(nodes))).collect();
    let mut counted = states.values().flatten().peekable();
    let all_full = counted.peek().is_some() && counted.all(|state| *state == State::Full);
    let pace = |state: Option<State>| match state {
        _ if all_full => Pace::Suspended,
        None | Some(State::Normal | State::Full) => Pace::Every(USUAL),
        Some(State::Partial { large: true }) => Pace::Every(SLOW),
        Some(State::Partial { large: false }) => Pace::Stopped,
    };
    states.into_iter().map(|(zone, state)| (zone.clone(), pace(state))).collect()
}

/// `None` where no node counts.
fn state(nodes: &[Arc<Node>]) -> Option<State> {
    let counted: Vec<_> = nodes.iter().filter(|node| counts(node)).collect();
    let unready = counted.iter().filter(|node| !node.is_ready()).count();
    let all = counted.len();
    Some(match unready {
        _ if all == 0 => return None,
        unready if unready == all => State::Full,
        unready if unready > UNHEALTHY && unready * 100 >= all * UNHEALTHY_PERCENT => {
            State::Partial { large: all > LARGE }
        }
        _ => State::Normal,
    })
}
