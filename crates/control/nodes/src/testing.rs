//! A world that plans are carried out in by hand, for tests of where they lead.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kedge_children::testing::{noon, object};
use kedge_client::{Key, Revision, World, Written};
use kedge_engine::{Action, Plan};
use serde_json::{Value, json};

/// So many seconds after noon.
pub(crate) fn noon_and(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

/// A node whose Ready condition has this status since an hour; `-` for none.
pub(crate) fn node(name: &str, ready: &str, edit: impl FnOnce(&mut Value)) -> Node {
    let mut value = json!({
        "metadata": {
            "name": name, "uid": name, "resourceVersion": "1", "creationTimestamp": "2030-01-01T10:00:00Z",
        },
        "spec": {},
        "status": {"conditions": [{
            "type": "Ready", "status": ready, "lastHeartbeatTime": "2030-01-01T11:59:50Z",
            "lastTransitionTime": "2030-01-01T11:00:00Z",
        }]},
    });
    if ready == "-" {
        value["status"] = json!({});
    }
    edit(&mut value);
    object(value)
}

pub(crate) fn taint(key: &str, effect: &str, added: i64) -> Value {
    json!({"key": key, "effect": effect, "timeAdded": noon_and(added).to_string()})
}

pub(crate) fn lease(name: &str, renewed: i64) -> Lease {
    let time = format!("{:.6}", noon_and(renewed));
    object(json!({
        "metadata": {"name": name, "namespace": "kube-node-lease"}, "spec": {"renewTime": time},
    }))
}

/// A node's taints in a few words: `not-ready:NoExecute`.
pub(crate) fn taints(node: &Node) -> String {
    let all = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let words =
        all.map(|taint| format!("{}:{}", taint.key.trim_start_matches("node.kubernetes.io/"), taint.effect));
    words.collect::<Vec<_>>().join(" ")
}

/// What a plan's changes make of the world; its other steps are looked at by the test.
pub(crate) fn carry_out(world: &World, plan: &Plan) {
    for action in &plan.actions {
        match action {
            Action::Change { target, patch, .. } => match &*target.resource.kind {
                "Node" => change::<Node>(world, &target.key, patch),
                "Pod" => change::<Pod>(world, &target.key, patch),
                kind => panic!("nobody changes a {kind} here"),
            },
            Action::Delete { target, .. } => match &*target.resource.kind {
                "Pod" => {
                    let pod = world.get::<Pod>(&target.key).unwrap().unwrap();
                    world.feed::<Pod>().remove((*pod).clone());
                }
                kind => panic!("nobody deletes a {kind} here"),
            },
            Action::Create { .. } | Action::Tell(_) => {}
        }
    }
}

fn change<K: Written>(world: &World, key: &Key, patch: &Value) {
    let old = world.get::<K>(key).unwrap().unwrap();
    let mut value = Value::Object(old.write());
    merge(&mut value, patch);
    let revision = Revision::of(old.meta()).unwrap_or_default().0 + 1;
    value["metadata"]["resourceVersion"] = revision.to_string().into();
    world.feed::<K>().put(K::read(value.to_string().as_bytes()).unwrap());
}

fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (field, new) in patch {
        match new {
            Value::Null => drop(value.as_object_mut().unwrap().remove(field)),
            new => merge(&mut value[field], new),
        }
    }
}
