//! An API of few words for tests: it keeps objects, checks revisions and uids, and can be cut off in the middle of a plan.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kedge_children::testing::{hold, noon, object};
use kedge_client::{Watched, World};
use kedge_engine::{Action, Key, Plan};
use serde_json::{Value, json};

use crate::careful::{Decide, Verdict};

#[derive(Clone, Default)]
pub(crate) struct Truth {
    objects: BTreeMap<(String, Key), Value>,
    revision: u64,
}

impl Truth {
    pub(crate) fn of(objects: impl IntoIterator<Item = Value>) -> Self {
        let mut truth = Self::default();
        for mut object in objects {
            truth.revision += 1;
            object["metadata"]["resourceVersion"] = truth.revision.to_string().into();
            let kind = object["kind"].as_str().unwrap().to_owned();
            truth.objects.insert((kind, key_of(&object)), object);
        }
        truth
    }

    pub(crate) fn get<K: Watched>(&self, key: &Key) -> Option<K> {
        let found = self.objects.get(&(K::kind(&()).into_owned(), key.clone()));
        found.map(|value| object(value.clone()))
    }

    pub(crate) fn all<K: Watched>(&self) -> Vec<K> {
        let kind = K::kind(&()).into_owned();
        let of_kind = self.objects.iter().filter(|((known, _), _)| *known == kind);
        of_kind.map(|(_, value)| object(value.clone())).collect()
    }

    pub(crate) fn remove(&mut self, kind: &str, key: &Key) {
        self.objects.remove(&(kind.to_owned(), key.clone()));
    }

    /// Lets a world see one kind as it is now.
    pub(crate) fn show<K: Watched>(&self, world: &World) {
        hold(world, self.all::<K>());
    }

    /// Does as much of a plan as it is allowed to, until something does not hold any more. False if it got stuck.
    pub(crate) fn carry_out(&mut self, plan: &Plan, limit: usize) -> bool {
        let mut moved: BTreeMap<String, String> = BTreeMap::new();
        for action in plan.actions.iter().filter(|action| !matches!(action, Action::Tell(_))).take(limit) {
            self.revision += 1;
            let revision = self.revision.to_string();
            match action {
                Action::Create { resource, object, .. } => {
                    let mut object = object.clone();
                    object["metadata"]["resourceVersion"] = revision.into();
                    object["metadata"]["uid"] = format!("uid-{}", self.revision).into();
                    let place = (resource.kind.clone(), key_of(&object));
                    if self.objects.contains_key(&place) {
                        return false;
                    }
                    self.objects.insert(place, object);
                }
                Action::Change { target, patch, .. } => {
                    let place = (target.resource.kind.clone(), target.key.clone());
                    let Some(live) = self.objects.get_mut(&place) else { return false };
                    let expected = moved.get(&target.uid).unwrap_or(&target.revision);
                    let meta = &live["metadata"];
                    if meta["uid"] != *target.uid || meta["resourceVersion"] != **expected {
                        return false;
                    }
                    merge(live, patch);
                    live["metadata"]["resourceVersion"] = revision.clone().into();
                    moved.insert(target.uid.clone(), revision);
                }
                Action::Delete { target, .. } => {
                    let place = (target.resource.kind.clone(), target.key.clone());
                    let Some(live) = self.objects.get_mut(&place) else { continue };
                    let kept = live["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
                    if kept {
                        live["metadata"]["deletionTimestamp"] = noon().to_string().into();
                        live["metadata"]["resourceVersion"] = revision.into();
                    } else {
                        self.objects.remove(&place);
                    }
                }
                Action::Tell(_) => {}
            }
        }
        true
    }
}

fn key_of(object: &Value) -> Key {
    let meta = &object["metadata"];
    Key::new(meta["namespace"].as_str().unwrap_or_default(), meta["name"].as_str().unwrap_or_default())
}

fn merge(live: &mut Value, patch: &Value) {
    let (Value::Object(live), Value::Object(patch)) = (&mut *live, patch) else {
        *live = patch.clone();
        return;
    };
    for (field, value) in patch {
        if value.is_null() {
            live.remove(field);
        } else {
            merge(live.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
}

/// What a decider plans in the end, its questions answered by the truth.
pub(crate) fn decided<D: Decide>(decider: &D, root: &D::Root, world: &World, proof: &D::Proof) -> Plan {
    match decider.decide(root, world, None, noon()).unwrap() {
        Verdict::Do(plan) => plan,
        Verdict::Prove => match decider.decide(root, world, Some(proof), noon()).unwrap() {
            Verdict::Do(plan) => plan,
            Verdict::Prove => panic!("proof is no proof"),
        },
    }
}

/// What a plan says: `Normal FailedBinding`.
pub(crate) fn said(plan: &Plan) -> String {
    let notes = plan.actions.iter().filter_map(|action| match action {
        Action::Tell(note) => Some(format!("{} {}", note.severity, note.reason)),
        _ => None,
    });
    notes.collect::<Vec<_>>().join(", ")
}

pub(crate) fn volume_value(name: &str, size: &str, edit: impl FnOnce(&mut Value)) -> Value {
    let mut value = json!({
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
        "spec": {
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": "Retain",
        },
        "status": {"phase": "Available"},
    });
    edit(&mut value);
    value
}

pub(crate) fn claim_value(name: &str, size: &str, edit: impl FnOnce(&mut Value)) -> Value {
    let mut value = json!({
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "n", "uid": format!("uid-{name}"), "resourceVersion": "1"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "storageClassName": "",
            "resources": {"requests": {"storage": size}},
        },
        "status": {"phase": "Pending"},
    });
    edit(&mut value);
    value
}

pub(crate) fn volume(name: &str, size: &str, edit: impl FnOnce(&mut Value)) -> PersistentVolume {
    object(volume_value(name, size, edit))
}

pub(crate) fn claim(name: &str, size: &str, edit: impl FnOnce(&mut Value)) -> PersistentVolumeClaim {
    object(claim_value(name, size, edit))
}
