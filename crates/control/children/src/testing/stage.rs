//! A world in which plans are carried out, so that a test can see where they lead. Keeps the API's promises that controllers
//! rely on: names are unique, a write is good for one revision, what has finalizers or runs on a node leaves before it goes.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kedge_client::{Key, Revision, Watched, World, Written};
use kedge_engine::{Action, Controller, Plan, Refusal};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{hold, noon};

/// Turns after which a world that still changes is said to change for ever.
const PATIENCE: usize = 500;

type Feed = Box<dyn Fn(&World, Value, bool)>;

pub struct Stage {
    pub world: World,
    pub now: Timestamp,
    objects: BTreeMap<(String, Key), Value>,
    kinds: BTreeMap<String, Feed>,
    revision: u64,
    /// How many pods there may be.
    pub quota: usize,
    /// How many writes of a plan are carried out before whoever made it is restarted.
    budget: usize,
    /// Everything that was said: `SuccessfulCreate: Created pod: web-x`.
    pub said: Vec<String>,
}

impl Default for Stage {
    fn default() -> Self {
        Self {
            world: World::by_hand(),
            now: noon(),
            objects: BTreeMap::new(),
            kinds: BTreeMap::new(),
            revision: 1,
            quota: usize::MAX,
            budget: usize::MAX,
            said: Vec::new(),
        }
    }
}

impl Stage {
    /// A stage on which every plan is broken off after so many writes.
    pub fn breaking_off_after(writes: usize) -> Self {
        Self { budget: writes, ..Self::default() }
    }

    #[must_use]
    pub fn with<K: Watched>(mut self) -> Self {
        hold::<K>(&self.world, Vec::new());
        let feed: Feed = Box::new(|world, value, is_there| {
            let object: K = K::read(value.to_string().as_bytes()).unwrap();
            if is_there { world.feed::<K>().put(object) } else { world.feed::<K>().remove(object) }
        });
        self.kinds.insert(K::kind(&()).into_owned(), feed);
        self
    }

    /// An object appears, or is put in the place of what it was.
    pub fn put<K: Written>(&mut self, object: &K) {
        self.store(&K::kind(&()), Key::of(object), object.write().into());
    }

    pub fn edit<K: Watched>(&mut self, name: &str, edit: impl FnOnce(&mut Value)) {
        let found = self.objects.keys().find(|(kind, key)| *kind == K::kind(&()) && key.name == name);
        let (kind, key) = found.unwrap_or_else(|| panic!("there is no {name}")).clone();
        let mut value = self.objects[&(kind.clone(), key.clone())].clone();
        edit(&mut value);
        self.store(&kind, key, value);
    }

    pub fn remove<K: Watched>(&mut self, name: &str) {
        let found = self.objects.keys().find(|(kind, key)| *kind == K::kind(&()) && key.name == name);
        let place = found.unwrap_or_else(|| panic!("there is no {name}")).clone();
        self.drop(place);
    }

    /// All objects of a kind, in order of their names.
    pub fn all<K: Watched>(&self) -> Vec<K> {
        let of_kind = self.objects.iter().filter(|((kind, _), _)| *kind == K::kind(&()));
        of_kind.map(|(_, value)| K::read(value.to_string().as_bytes()).unwrap()).collect()
    }

    pub fn get<K: Watched>(&self, name: &str) -> Option<K> {
        self.all::<K>().into_iter().find(|object| object.name_any() == name)
    }

    /// What nodes do: pods that were told to go are gone, those that are placed run and are ready if `works` says so.
    pub fn nodes_act(&mut self, works: impl Fn(&Pod) -> bool) {
        for pod in self.all::<Pod>() {
            let name = pod.name_any();
            if pod.metadata.deletion_timestamp.is_some() {
                self.remove::<Pod>(&name);
            } else if pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
                == "Pending"
                && works(&pod)
            {
                let since = self.now.to_string();
                self.edit::<Pod>(&name, |pod| {
                    pod["status"] = json!({
                        "phase": "Running",
                        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}],
                    });
                });
            }
        }
    }

    /// Takes turns until a plan has nothing more to do and `outside`, which happens after every turn, changes nothing.
    /// What is due later is waited for.
    pub fn settle<C: Controller>(&mut self, controller: &C, name: &str, mut outside: impl FnMut(&mut Self)) {
        for _ in 0..PATIENCE {
            let before = self.revision;
            let look_again = self.turn(controller, name);
            outside(self);
            if self.revision != before {
                continue;
            }
            match look_again {
                Some(moment) => self.now = moment.max(self.now + SignedDuration::from_millis(1)),
                None => return,
            }
        }
        panic!("{name} does not come to rest: {:#?}", self.objects);
    }

    /// One turn for one object, if it is there. Gives when to look again.
    pub fn turn<C: Controller>(&mut self, controller: &C, name: &str) -> Option<Timestamp> {
        let root = self.all::<C::Root>().into_iter().find(|root| root.name_any() == name)?;
        let plan = controller.plan(&root, &self.world, self.now).unwrap();
        if let Some(refusal) = self.carry_out(&plan) {
            let said = controller.refused(&root, &[refusal], self.now);
            self.carry_out(&said.into());
        }
        plan.look_again
    }

    /// Gives what was refused for good.
    fn carry_out(&mut self, plan: &Plan) -> Option<Refusal> {
        let mut moved: BTreeMap<String, String> = BTreeMap::new();
        let mut left = self.budget;
        let mut refusal = None;
        for action in &plan.actions {
            // As the engine does: where something could not be made, only statuses are still written.
            if refusal.is_some() && !action.is_status() {
                continue;
            }
            if let Action::Tell(note) = action {
                self.said.push(format!("{}: {}", note.reason, note.message));
                continue;
            }
            if left == 0 {
                return refusal;
            }
            if matches!(action, Action::Create { resource, .. } if resource.kind == "Pod")
                && self.all::<Pod>().len() >= self.quota
            {
                let (reason, message) = ("Forbidden".to_owned(), "exceeded quota".to_owned());
                refusal = Some(Refusal { action: action.clone(), code: 403, reason, message });
                continue;
            }
            if !self.act(action, &mut moved) {
                return refusal;
            }
            left -= 1;
        }
        refusal
    }

    /// False if the object is another by now, or gone.
    fn act(&mut self, action: &Action, moved: &mut BTreeMap<String, String>) -> bool {
        match action {
            Action::Create { resource, namespace, object } => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let key = Key::new(&**namespace, name);
                if self.objects.contains_key(&(resource.kind.clone(), key.clone())) {
                    return false;
                }
                let mut object = object.clone();
                if resource.kind == "Pod" {
                    object["status"] = json!({"phase": "Pending"});
                }
                self.store(&resource.kind, key, object);
                true
            }
            Action::Change { target, patch, .. } => {
                let place = (target.resource.kind.clone(), target.key.clone());
                let Some(mut value) = self.objects.get(&place).cloned() else { return false };
                let expected = moved.get(&target.uid).unwrap_or(&target.revision);
                if value["metadata"]["resourceVersion"] != **expected {
                    return false;
                }
                merge(&mut value, patch);
                self.store(&place.0, place.1, value);
                moved.insert(target.uid.clone(), self.revision.to_string());
                true
            }
            Action::Delete { target, .. } => {
                let place = (target.resource.kind.clone(), target.key.clone());
                let Some(mut value) = self.objects.get(&place).cloned() else { return true };
                if value["metadata"]["uid"] != *target.uid {
                    return false;
                }
                let runs = place.0 == "Pod"
                    && value["spec"]["nodeName"].is_string()
                    && !matches!(value["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
                let held = value["metadata"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
                if runs || held {
                    value["metadata"]["deletionTimestamp"] = self.now.to_string().into();
                    self.store(&place.0, place.1, value);
                } else {
                    self.drop(place);
                }
                true
            }
            Action::Tell(_) => true,
        }
    }

    fn store(&mut self, kind: &str, key: Key, mut value: Value) {
        self.revision += 1;
        let before = self.objects.get(&(kind.to_owned(), key.clone()));
        let generation = match before {
            Some(before) if before["spec"] == value["spec"] => before["metadata"]["generation"].clone(),
            Some(before) => (before["metadata"]["generation"].as_i64().unwrap_or(0) + 1).into(),
            None => 1.into(),
        };
        let uid = before.map_or_else(
            || format!("uid-{}", self.revision).into(),
            |before| before["metadata"]["uid"].clone(),
        );
        let meta = &mut value["metadata"];
        meta["generation"] = generation;
        if meta["uid"].is_null() {
            meta["uid"] = uid;
        }
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = self.now.to_string().into();
        }
        meta["resourceVersion"] = self.revision.to_string().into();
        self.feed(kind, value.clone(), true);
        self.objects.insert((kind.to_owned(), key), value);
    }

    fn drop(&mut self, place: (String, Key)) {
        self.revision += 1;
        if let Some(value) = self.objects.remove(&place) {
            self.feed(&place.0, value, false);
        }
    }

    fn feed(&self, kind: &str, value: Value, is_there: bool) {
        let feed = self.kinds.get(kind).unwrap_or_else(|| panic!("nobody knows {kind}"));
        feed(&self.world, value, is_there);
    }

    /// How far history has come, to see whether anything was written.
    pub fn revision(&self) -> Revision {
        Revision(self.revision)
    }
}

fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (field, now) in fields {
        if now.is_null() {
            value.as_object_mut().unwrap().remove(field);
        } else {
            merge(&mut value[field], now);
        }
    }
}
