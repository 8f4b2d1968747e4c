//! A world for plan tests, in a few words.

mod stage;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kedge_client::{Revision, Watched, World};
use kedge_engine::{Action, Plan};
use serde_json::{Value, json};

pub use self::stage::Stage;

pub fn noon() -> Timestamp {
    "2030-01-01T12:00:00Z".parse().unwrap()
}

pub fn object<K: Watched>(value: Value) -> K {
    K::read(value.to_string().as_bytes()).unwrap()
}

/// Puts these objects into a world; a kind of which there are none is known to have none.
pub fn hold<K: Watched>(world: &World, objects: Vec<K>) {
    world.feed::<K>().replace(objects, Revision(1));
}

/// A pod of an owner, `uid` being the owner's.
pub fn pod(name: &str, owner: &str, edit: impl FnOnce(&mut Value)) -> Pod {
    let mut value = json!({
        "metadata": {
            "name": name, "namespace": "n", "uid": name, "resourceVersion": "1", "labels": {"app": "web"},
            "creationTimestamp": "2030-01-01T11:00:00Z",
        },
        "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T11:00:05Z"}],
        },
    });
    if !owner.is_empty() {
        value["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": owner, "controller": true,
        }]);
    }
    edit(&mut value);
    object(value)
}

/// What a plan does to the world, without what it says about it: `+Pod -Pod/a ~Pod/b`.
pub fn summary(plan: &Plan) -> String {
    let words = plan.actions.iter().filter_map(|action| match action {
        Action::Create { resource, .. } => Some(format!("+{}", resource.kind)),
        Action::Delete { target, .. } => Some(format!("-{}/{}", target.resource.kind, target.key.name)),
        Action::Change { target, subresource: "", .. } => {
            Some(format!("~{}/{}", target.resource.kind, target.key.name))
        }
        Action::Change { .. } | Action::Tell(_) => None,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The status that a plan writes.
pub fn status(plan: &Plan) -> Value {
    let patch = plan.actions.iter().find_map(|action| match action {
        Action::Change { subresource: "status", patch, .. } => Some(patch["status"].clone()),
        _ => None,
    });
    patch.unwrap_or_default()
}
