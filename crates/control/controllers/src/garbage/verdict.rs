//! What becomes of one object, by what is known of its owners and dependents. Decides and does nothing else.

use kedge_engine::{Action, Note, Severity};
use serde_json::{Value, json};

use super::graph::{Graph, Node, Owner, Reference};

#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// It stays as it is.
    Leave,
    Do(Vec<Action>),
    /// These owners have to be looked for first, each seen from a namespace.
    Find(Vec<(Reference, String)>),
}

pub(super) fn verdict(graph: &Graph, uid: &str) -> Verdict {
    let Some(node) = graph.get(uid) else { return Verdict::Leave };
    match node.is_leaving {
        true if node.orphans() => Verdict::Do(orphan(graph, node)),
        true if node.waits() => wait(graph, node),
        true => Verdict::Leave,
        false if node.owners.is_empty() => Verdict::Leave,
        false => judge(graph, node),
    }
}

/// Its dependents forget it, then it may go.
fn orphan(graph: &Graph, node: &Node) -> Vec<Action> {
    let dependents = graph.dependents(&node.uid).into_iter();
    let freed = dependents.map(|dependent| without(dependent, |owner| owner.uid == node.uid));
    freed.chain([unfinish(node, "orphan")]).collect()
}

/// It may go when no dependent that blocks it is left.
fn wait(graph: &Graph, node: &Node) -> Verdict {
    let blocks = |dependent: &&Node| {
        let mut mine = dependent.owners.iter().filter(|owner| owner.uid == node.uid);
        mine.any(|owner| owner.block_owner_deletion == Some(true))
    };
    if graph.dependents(&node.uid).into_iter().any(|dependent| blocks(&dependent)) {
        return Verdict::Leave;
    }
    Verdict::Do(vec![unfinish(node, "foregroundDeletion")])
}

fn judge(graph: &Graph, node: &Node) -> Verdict {
    let (mut solid, mut gone, mut leaving, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut misplaced = Vec::new();
    for owner in &node.owners {
        match graph.owner(owner, &node.key.namespace) {
            Owner::There(found) if found.is_leaving && found.waits() => leaving.push(owner),
            Owner::There(_) => solid.push(owner),
            Owner::Gone => gone.push(owner),
            Owner::Misplaced => misplaced.push(owner),
            Owner::Unknown => unknown.push((owner.clone(), node.key.namespace.clone())),
        }
    }
    if !unknown.is_empty() {
        return Verdict::Find(unknown);
    }
    if !misplaced.is_empty() {
        return Verdict::Do(misplaced.into_iter().map(|owner| tell(node, owner)).collect());
    }
    let said =
        gone.iter().filter(|owner| is_elsewhere(graph, owner)).map(|owner| tell(node, owner)).collect();
    match decide(graph, node, &solid, &gone, &leaving) {
        Some(actions) => Verdict::Do([said, actions].concat()),
        None => Verdict::Leave,
    }
}

/// An owner of a namespace can't own what lies in another.
fn is_elsewhere(graph: &Graph, owner: &Reference) -> bool {
    graph.get(&owner.uid).is_some_and(|found| found.key.name == owner.name)
}

/// Says that an owner will not be found where it is looked for.
fn tell(node: &Node, owner: &Reference) -> Action {
    let Reference { api_version, kind, name, uid, .. } = owner;
    let namespace = &node.key.namespace;
    let message = format!(
        "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}] does not exist in namespace {namespace:?}"
    );
    let reason = "OwnerRefInvalidNamespace";
    Action::Tell(Note {
        about: node.target(),
        part: String::new(),
        severity: Severity::Warning,
        reason,
        message,
    })
}

/// What follows from owners of which all is known; nothing if they hold it.
fn decide(
    graph: &Graph,
    node: &Node,
    solid: &[&Reference],
    gone: &[&Reference],
    leaving: &[&Reference],
) -> Option<Vec<Action>> {
    if !solid.is_empty() {
        if gone.is_empty() && leaving.is_empty() {
            return None;
        }
        // One owner is enough to stay; the others are forgotten, so that none of them waits for it.
        return Some(vec![without(node, |owner| gone.contains(&owner) || leaving.contains(&owner))]);
    }
    let dependents = graph.dependents(&node.uid);
    if !leaving.is_empty() && !dependents.is_empty() {
        // In a circle of owners that all wait for each other, one must not block.
        let circle = dependents.iter().any(|dependent| dependent.is_leaving && dependent.waits());
        let unblocked = circle.then(|| unblock(node));
        return Some(unblocked.into_iter().chain([delete(node, "Foreground", !circle)]).collect());
    }
    let propagation = match node {
        node if node.orphans() => "Orphan",
        node if node.waits() => "Foreground",
        _ => "Background",
    };
    Some(vec![delete(node, propagation, true)])
}

fn delete(node: &Node, propagation: &'static str, unchanged: bool) -> Action {
    Action::Delete { target: node.target(), propagation, grace_seconds: None, unchanged }
}

fn without(node: &Node, is_dropped: impl Fn(&Reference) -> bool) -> Action {
    owners(node, node.owners.iter().filter(|owner| !is_dropped(owner)).cloned())
}

fn unblock(node: &Node) -> Action {
    let unblocking = |owner: &Reference| Reference { block_owner_deletion: Some(false), ..owner.clone() };
    owners(node, node.owners.iter().map(unblocking))
}

fn owners(node: &Node, kept: impl Iterator<Item = Reference>) -> Action {
    let kept: Vec<Value> = kept
        .map(|owner| {
            let mut value = json!({
                "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid,
            });
            for (field, flag) in
                [("controller", owner.controller), ("blockOwnerDeletion", owner.block_owner_deletion)]
            {
                if let Some(flag) = flag {
                    value[field] = flag.into();
                }
            }
            value
        })
        .collect();
    let kept = if kept.is_empty() { Value::Null } else { kept.into() };
    change(node, json!({"metadata": {"ownerReferences": kept}}))
}

fn unfinish(node: &Node, finalizer: &str) -> Action {
    let left: Vec<&String> = node.finalizers.iter().filter(|name| *name != finalizer).collect();
    let left = if left.is_empty() { Value::Null } else { json!(left) };
    change(node, json!({"metadata": {"finalizers": left}}))
}

fn change(node: &Node, patch: Value) -> Action {
    Action::Change { target: node.target(), subresource: "", patch }
}
