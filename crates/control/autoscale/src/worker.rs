//! Looks after autoscalers: reads what a plan needs, carries the plan out and remembers it. Between its regular looks it asks,
//! cheaply and only where an autoscaler is, whether what the pods use calls for more of them, so that load is met at once.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kedge_clock::Clock;
use kedge_engine::{
    Action, Carrier, Engine, Key, Next, NotReady, Outcome, Seen, Severity, Target, TurnError, Wait, Worker,
    World,
};
use kedge_kinds::LabelSelector;
use kube::ResourceExt;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::autoscaler::{Autoscaler, Metric, Spec};
use crate::history::History;
use crate::measured::Measured;
use crate::metrics::Meter;
use crate::plan::{BadSelector, Facts, Plan, difference, needs_measurements, plan, without_scale};
use crate::settings::Settings;
use crate::target::{Places, Scale};

const NAME: &str = "horizontal-pod-autoscaler";

pub struct Autoscalers {
    world: World,
    clock: Clock,
    carrier: Carrier,
    settings: Settings,
    places: Places,
    memory: Mutex<HashMap<Key, Memory>>,
}

/// What is remembered of one autoscaler.
#[derive(Clone, Default)]
struct Memory {
    uid: String,
    history: History,
    /// When it was last looked at as a whole, and as what.
    looked: Option<(Timestamp, Spec)>,
    /// Which pods are its target's.
    selector: Option<LabelSelector>,
}

impl Autoscalers {
    pub fn new(engine: &Engine, settings: Settings) -> Arc<Self> {
        let (client, clock) = (engine.client().clone(), engine.clock().clone());
        let carrier = Carrier::new(NAME, client, clock.clone());
        let (world, places, memory) = (engine.world().clone(), Places::default(), Mutex::default());
        Arc::new(Self { world, clock, carrier, settings, places, memory })
    }

    async fn one_turn(&self, key: &Key) -> Outcome {
        let autoscaler = match self.world.get::<Autoscaler>(key) {
            Ok(Some(autoscaler)) => autoscaler,
            Ok(None) => {
                self.memory.lock().remove(key);
                return Outcome { waits: Vec::new(), next: Next::Rest };
            }
            Err(error) => return Outcome { waits: Vec::new(), next: Next::Retry(error.into()) },
        };
        let now = self.clock.now();
        let due = self.due(key, &autoscaler, now);
        if due.is_some_and(|due| due > now && self.settings.reaction.is_none()) {
            return Outcome { waits: Vec::new(), next: due.map_or(Next::Rest, Next::At) };
        }
        let mut waits = Vec::new();
        let looked = match self.look(key, &autoscaler, due.is_none_or(|due| due <= now), &mut waits).await {
            Ok(looked) => looked,
            Err(error) => return Outcome { waits, next: Next::Retry(error) },
        };
        if looked && let Some(memory) = self.memory.lock().get_mut(key) {
            memory.looked = Some((now, autoscaler.spec.clone()));
        }
        let due = self.due(key, &autoscaler, now).unwrap_or(now);
        let reaction = self.settings.reaction.map(|reaction| later(now, reaction));
        Outcome { waits, next: Next::At(reaction.map_or(due, |reaction| reaction.min(due))) }
    }

    /// When it has to be looked at as a whole; `None` for now, as it is new or was changed.
    fn due(&self, key: &Key, autoscaler: &Autoscaler, now: Timestamp) -> Option<Timestamp> {
        let mut all = self.memory.lock();
        let memory = all.entry(key.clone()).or_default();
        let uid = autoscaler.uid().unwrap_or_default();
        if memory.uid != uid {
            *memory = Memory { uid, ..Memory::default() };
        }
        let (at, spec) = memory.looked.as_ref()?;
        // A clock that was set back must not make anybody wait for it.
        let due = later(*at, self.settings.every);
        (*spec == autoscaler.spec && *at <= now).then_some(due)
    }

    /// Whether it was looked at as a whole.
    async fn look(
        &self,
        key: &Key,
        autoscaler: &Autoscaler,
        is_due: bool,
        waits: &mut Vec<Wait>,
    ) -> Result<bool, TurnError> {
        let client = self.carrier.client();
        let reference = &autoscaler.spec.scale_target_ref;
        let scale = match self.places.scale(client, &key.namespace, reference).await {
            Ok(scale) => scale,
            Err(_) if !is_due => return Ok(false),
            Err(error) => {
                let status = without_scale(autoscaler, &error, self.clock.now());
                let told = Action::tell(autoscaler, Severity::Warning, "FailedGetScale", error);
                self.say(autoscaler, vec![told], &status, waits).await?;
                return Ok(true);
            }
        };
        let known = self.remember(key, &scale);
        let pods = self.pods(key, &scale)?;
        let meter =
            Meter { client, places: &self.places, namespace: &key.namespace, selector: &scale.selector };
        let mut measured = Vec::new();
        if needs_measurements(autoscaler, scale.replicas) && pods.is_ok() {
            if !is_due {
                let used: Vec<Metric> =
                    autoscaler.spec.metrics.iter().filter(|one| one.is_used_by_pods()).cloned().collect();
                if used.is_empty() || !self.grows(autoscaler, &scale, &pods, &known, &meter, &used).await {
                    return Ok(false);
                }
            }
            measured = meter.read(&autoscaler.spec.metrics).await;
        } else if !is_due && (pods.is_err() || scale.replicas == 0) {
            return Ok(false);
        }
        let plan = self.plan(autoscaler, &scale, &pods, &measured, &known);
        if !is_due && plan.rescale.is_none() {
            return Ok(false);
        }
        self.carry_out(key, autoscaler, &scale, plan, waits).await?;
        Ok(true)
    }

    /// Whether what the pods use asks for more of them, whatever else is measured.
    async fn grows(
        &self,
        autoscaler: &Autoscaler,
        scale: &Scale,
        pods: &Result<Vec<Arc<Pod>>, BadSelector>,
        history: &History,
        meter: &Meter<'_>,
        used: &[Metric],
    ) -> bool {
        let measured = meter.read(used).await;
        let mut only = autoscaler.clone();
        only.spec.metrics = used.to_vec();
        let plan = self.plan(&only, scale, pods, &measured, history);
        plan.rescale.is_some_and(|rescale| rescale.to > rescale.from)
    }

    fn plan(
        &self,
        autoscaler: &Autoscaler,
        scale: &Scale,
        pods: &Result<Vec<Arc<Pod>>, BadSelector>,
        measured: &[Measured],
        history: &History,
    ) -> Plan {
        let (pods, settings, now) = (pods.as_ref().map(|pods| &**pods), &self.settings, self.clock.now());
        plan(&Facts { autoscaler, scale, pods, measured, history, settings, now })
    }

    /// What was recommended and done before; who is new has recommended what is there.
    fn remember(&self, key: &Key, scale: &Scale) -> History {
        let now = self.clock.now();
        let mut all = self.memory.lock();
        let memory = all.entry(key.clone()).or_default();
        if memory.history.is_new() {
            memory.history.recommend(scale.replicas, now);
        }
        memory.selector = LabelSelector::parse(&scale.selector).ok().filter(|_| !scale.selector.is_empty());
        memory.history.clone()
    }

    /// The target's pods, if it is clear which they are.
    fn pods(&self, key: &Key, scale: &Scale) -> Result<Result<Vec<Arc<Pod>>, BadSelector>, NotReady> {
        if scale.selector.is_empty() {
            return Ok(Err(BadSelector {
                event: "SelectorRequired",
                reason: "InvalidSelector",
                said: "the HPA target's scale is missing a selector".to_owned(),
                error: "selector is required".to_owned(),
            }));
        }
        let selector = match LabelSelector::parse(&scale.selector) {
            Ok(selector) => selector,
            Err(error) => {
                let error = format!(
                    "couldn't convert selector into a corresponding internal selector object: {error}"
                );
                let said = error.clone();
                let (event, reason) = ("InvalidSelector", "InvalidSelector");
                return Ok(Err(BadSelector { event, reason, said, error }));
            }
        };
        let of = |selector: &LabelSelector, pod: &Pod| {
            selector.matches(|label| pod.labels().get(label).map(String::as_str))
        };
        let mut pods = self.world.cache::<Pod>()?.in_namespace(&key.namespace);
        pods.retain(|pod| of(&selector, pod));
        let memory = self.memory.lock();
        let mut others: Vec<&Key> = memory
            .iter()
            .filter(|(other, known)| {
                let claims = |known: &LabelSelector| pods.iter().any(|pod| of(known, pod));
                other.namespace == key.namespace
                    && *other != key
                    && known.selector.as_ref().is_some_and(claims)
            })
            .map(|(other, _)| other)
            .collect();
        if others.is_empty() {
            return Ok(Ok(pods));
        }
        others.push(key);
        others.sort_unstable();
        let names: Vec<String> = others.iter().map(ToString::to_string).collect();
        let error = format!(
            "pods by selector {} are controlled by multiple HPAs: [{}]",
            scale.selector,
            names.join(" ")
        );
        let (event, reason, said) = ("AmbiguousSelector", "AmbiguousSelector", error.clone());
        Ok(Err(BadSelector { event, reason, said, error }))
    }

    async fn carry_out(
        &self,
        key: &Key,
        autoscaler: &Autoscaler,
        scale: &Scale,
        plan: Plan,
        waits: &mut Vec<Wait>,
    ) -> Result<(), TurnError> {
        let now = self.clock.now();
        if let (Some(recommended), Some(memory)) = (plan.recommended, self.memory.lock().get_mut(key)) {
            memory.history.recommend(recommended, now);
        }
        let mut told: Vec<Action> = plan
            .events
            .iter()
            .map(|(severity, reason, message)| Action::tell(autoscaler, *severity, reason, message))
            .collect();
        let mut refused = None;
        if let Some(rescale) = &plan.rescale {
            let patch = json!({"spec": {"replicas": rescale.to}});
            let change = Action::Change { target: scale.target.clone(), subresource: "scale", patch };
            let done = self.carrier.carry_out(&[change]).await;
            waits.extend(done.waits);
            let (size, why) = (rescale.to, &rescale.why);
            match done.error {
                None => {
                    tracing::info!(controller = NAME, %key, from = rescale.from, to = size, "scaled: {why}");
                    if let Some(memory) = self.memory.lock().get_mut(key) {
                        memory.history.scaled(size.saturating_sub(rescale.from), now);
                    }
                    let said = format!("New size: {size}; reason: {why}");
                    told.push(Action::tell(autoscaler, Severity::Normal, "SuccessfulRescale", said));
                }
                Some(TurnError::Refused(refusals)) => {
                    let error = refusals.first().map(|refusal| refusal.message.clone()).unwrap_or_default();
                    let said = format!("New size: {size}; reason: {why}; error: {error}");
                    told.push(Action::tell(autoscaler, Severity::Warning, "FailedRescale", said));
                    refused = Some(error);
                }
                // Somebody else was faster, or nobody answered: what is true now is looked at again.
                Some(error) => return Err(error),
            }
        }
        let status = plan.status(autoscaler, refused.as_deref(), now);
        self.say(autoscaler, told, &status, waits).await
    }

    async fn say(
        &self,
        autoscaler: &Autoscaler,
        mut told: Vec<Action>,
        status: &Value,
        waits: &mut Vec<Wait>,
    ) -> Result<(), TurnError> {
        if let Some(patch) = difference(autoscaler, status) {
            let target = Target::of(autoscaler);
            told.push(Action::Change { target, subresource: "status", patch });
        }
        let done = self.carrier.carry_out(&told).await;
        waits.extend(done.waits);
        done.error.map_or(Ok(()), Err)
    }
}

fn later(moment: Timestamp, by: std::time::Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    moment.saturating_add(by).unwrap_or(Timestamp::MAX)
}

impl Worker for Autoscalers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn watch(&self, world: &World) {
        world.watch::<Autoscaler>().watch::<Pod>();
    }

    fn roots(&self, world: &World) -> Vec<Key> {
        let all = world.cache::<Autoscaler>().map(|cache| cache.all()).unwrap_or_default();
        all.iter().map(|one| Key::of(&**one)).collect()
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        if seen.is::<Autoscaler>() { vec![seen.key.clone()] } else { Vec::new() }
    }

    fn turn<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Outcome> {
        self.one_turn(key).boxed()
    }
}
