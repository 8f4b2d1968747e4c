//! A pod whose node turned unready before the pod had begun has nothing to lose there: what its owner makes in its place goes
//! to another node at once. See `docs/decisions/0005-unstarted-pods-move.md`.

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use kedge_children::claim;
use kedge_children::pods::PodFacts;
use kedge_engine::{NotReady, World};

use crate::facts::{self, NO_EXECUTE, NOT_READY, NodeFacts, UNREACHABLE, after};

/// How long it may take the scheduler to learn that a node is unready, in seconds.
const NEWS: i64 = 1;

pub(super) fn waits_in_vain(pod: &Pod, node: &Node, world: &World) -> Result<bool, NotReady> {
    let key = match node.readiness() {
        Some("False") => NOT_READY,
        Some("Unknown") => UNREACHABLE,
        _ => return Ok(false),
    };
    if has_begun(pod)
        || !was_placed_before(pod, node)
        || !is_replaced_at_once(pod)
        || stays_for_ever(pod, key)
    {
        return Ok(false);
    }
    // Where no node is ready, there is no better place.
    Ok(world.cache::<Node>()?.all().iter().any(|node| node.is_ready()))
}

/// The node has said something about the pod.
fn has_begun(pod: &Pod) -> bool {
    pod.phase() != "Pending" || pod.status.as_ref().is_some_and(|status| status.start_time.is_some())
}

/// The scheduler chose the node while it seemed well. Where it chose knowingly, or nobody was asked because the template names
/// the node, what comes next would come to the same place, again and again.
fn was_placed_before(pod: &Pod, node: &Node) -> bool {
    let turned = node.condition("Ready").and_then(|ready| ready.last_transition_time.as_ref());
    let placed = pod.condition("PodScheduled").filter(|placed| placed.status == "True");
    let placed = placed.and_then(|placed| placed.last_transition_time.as_ref());
    placed.zip(turned).is_some_and(|(placed, turned)| placed.0 <= after(turned.0, NEWS))
}

/// Its owner counts a leaving pod as gone, makes another, and holds the loss against nobody.
fn is_replaced_at_once(pod: &Pod) -> bool {
    claim::controller(pod).is_some_and(|owner| {
        matches!(
            (&*owner.api_version, &*owner.kind),
            ("apps/v1", "ReplicaSet") | ("v1", "ReplicationController")
        )
    })
}

fn stays_for_ever(pod: &Pod, key: &str) -> bool {
    let taint = Taint { key: key.to_owned(), effect: NO_EXECUTE.to_owned(), ..Taint::default() };
    facts::toleration(pod, &taint).is_some_and(|toleration| toleration.toleration_seconds.is_none())
}
