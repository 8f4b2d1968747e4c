//! What users do about everybody at once: they make and delete the namespace, ration it, let somebody refuse pods, and have things
//! scaled by what they use.

use std::sync::Arc;

use kedge_store::Snapshot;
use serde_json::{Value, json};

use super::{People, Thing, outcome, send};
use crate::chance::Chance;
use crate::load::Load;
use crate::mood::Mood;

/// What a history is about besides things.
pub(crate) struct Order {
    pub(crate) namespace: &'static str,
    pub(crate) rations: bool,
    pub(crate) scales: bool,
    pub(crate) mood: Option<Arc<Mood>>,
}

impl Order {
    pub(crate) fn new(chance: &mut Chance) -> Self {
        Self {
            namespace: if chance.percent(15) { "stage" } else { "default" },
            rations: chance.percent(15),
            mood: chance.percent(15).then(Arc::default),
            scales: chance.percent(25),
        }
    }

    /// The namespace may go and come back.
    pub(crate) fn moves(&self) -> bool {
        self.namespace != "default"
    }
}

/// What may be scaled.
const SCALABLE: [&str; 4] = ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];
/// What all pods of an app may use together, in thousandths of a CPU.
const LOADS: [Option<i64>; 7] = [Some(0), Some(20), Some(60), Some(100), Some(150), Some(300), None];

impl People {
    /// Somebody does something of this; what it was, if it was anything.
    pub(super) async fn set_in_order(
        &self,
        chance: &mut Chance,
        store: &Snapshot,
        load: &Load,
    ) -> Option<String> {
        let order = &self.order;
        if order.moves() && chance.percent(20) {
            return self.move_out_or_in(store).await;
        }
        if order.rations && chance.percent(30) {
            return self.ration(chance, store).await;
        }
        if let Some(mood) = order.mood.as_ref().filter(|_| chance.percent(30)) {
            let nth = chance.below(4);
            mood.refuse_every(nth);
            return Some(format!("policy: refuse one pod of {nth}"));
        }
        if order.scales && chance.percent(50) {
            if chance.percent(50) {
                let now = *chance.pick(&LOADS)?;
                load.set(now);
                return Some(format!("load: {now:?}"));
            }
            let scalable: Vec<Thing> =
                self.things.iter().filter(|thing| SCALABLE.contains(&thing.kind)).copied().collect();
            let thing = *chance.pick(&scalable)?;
            return self.autoscale(chance, store, thing).await;
        }
        None
    }

    async fn move_out_or_in(&self, store: &Snapshot) -> Option<String> {
        let name = self.order.namespace;
        if store.get(&format!("/registry/namespaces/{name}")).is_some() {
            let gone =
                send(&self.client, "DELETE", &format!("/api/v1/namespaces/{name}"), &Value::Null).await;
            return Some(outcome(format!("user: delete Namespace {name}"), gone));
        }
        Some(self.move_in().await)
    }

    pub(crate) async fn move_in(&self) -> String {
        let name = self.order.namespace;
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let made = send(&self.client, "POST", "/api/v1/namespaces", &namespace).await;
        outcome(format!("user: create Namespace {name}"), made)
    }

    async fn ration(&self, chance: &mut Chance, store: &Snapshot) -> Option<String> {
        let namespace = self.order.namespace;
        let quotas = format!("/api/v1/namespaces/{namespace}/resourcequotas");
        let pods = chance.below(4);
        let hard = json!({ "pods": pods.to_string(), "count/replicasets.apps": "20" });
        if store.get(&format!("/registry/resourcequotas/{namespace}/ration")).is_none() {
            let quota = json!({
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "ration" }, "spec": { "hard": hard },
            });
            let made = send(&self.client, "POST", &quotas, &quota).await;
            return Some(outcome(format!("user: create ResourceQuota of {pods} pods"), made));
        }
        if chance.percent(25) {
            let gone = send(&self.client, "DELETE", &format!("{quotas}/ration"), &Value::Null).await;
            return Some(outcome("user: delete ResourceQuota".to_owned(), gone));
        }
        let patch = json!({ "spec": { "hard": hard } });
        let done = send(&self.client, "PATCH", &format!("{quotas}/ration"), &patch).await;
        Some(outcome(format!("user: change ResourceQuota to {pods} pods"), done))
    }

    async fn autoscale(&self, chance: &mut Chance, store: &Snapshot, thing: Thing) -> Option<String> {
        let namespace = self.order.namespace;
        let place = format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers");
        let there = format!("/registry/horizontalpodautoscalers/{namespace}/{}", thing.name);
        if store.get(&there).is_some() && chance.percent(40) {
            let path = format!("{place}/{}", thing.name);
            let gone = send(&self.client, "DELETE", &path, &Value::Null).await;
            return Some(outcome(format!("user: delete HorizontalPodAutoscaler {}", thing.name), gone));
        }
        let least = 1 + chance.below(2);
        let autoscaler = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": thing.name },
            "spec": {
                "scaleTargetRef": { "apiVersion": thing.version, "kind": thing.kind, "name": thing.name },
                "minReplicas": least, "maxReplicas": 4,
                "metrics": [{
                    "type": "Resource",
                    "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 } },
                }],
            },
        });
        let made = send(&self.client, "POST", &place, &autoscaler).await;
        Some(outcome(format!("user: create HorizontalPodAutoscaler {} from {least}", thing.name), made))
    }

    /// Somebody is refused what they ask for, and has to live with it.
    pub(crate) fn is_refused(&self, store: &Snapshot) -> bool {
        let rationed = format!("/registry/resourcequotas/{}/ration", self.order.namespace);
        self.order.mood.as_ref().is_some_and(|mood| mood.is_bad()) || store.get(&rationed).is_some()
    }

    /// Nobody is refused anything any more, and load is measured.
    pub(super) async fn make_peace(&self, load: &Load) {
        if let Some(mood) = &self.order.mood {
            mood.refuse_every(0);
        }
        if load.now().is_none() {
            load.set(Some(100));
        }
        let path = format!("/api/v1/namespaces/{}/resourcequotas/ration", self.order.namespace);
        let plenty = json!({ "spec": { "hard": { "pods": "100" } } });
        drop(send(&self.client, "PATCH", &path, &plenty).await);
    }
}
