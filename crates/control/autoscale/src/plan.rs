//! What to do about one autoscaler, given its target, the target's pods, what was measured and what was done before. Decides and
//! does nothing else: the same past gives the same plan.

mod propose;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kedge_engine::Severity;
use serde_json::{Value, json};

use self::propose::{Failure, propose};
use crate::amount::part;
use crate::autoscaler::{Autoscaler, Rules, Spec};
use crate::conditions::{ABLE, ACTIVE, AT_ZERO, Conditions, LIMITED, written};
use crate::history::History;
use crate::limits::Past;
use crate::measured::Measured;
use crate::replicas::{Scene, Tolerance};
use crate::settings::Settings;
use crate::target::Scale;

/// Everything that a plan is made from.
pub(crate) struct Facts<'a> {
    pub(crate) autoscaler: &'a Autoscaler,
    pub(crate) scale: &'a Scale,
    /// The target's, or why nobody knows which they are.
    pub(crate) pods: Result<&'a [Arc<Pod>], &'a BadSelector>,
    /// One for each metric.
    pub(crate) measured: &'a [Measured],
    pub(crate) history: &'a History,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

/// The target doesn't say which pods are its own, or others say the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BadSelector {
    pub(crate) event: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) said: String,
    pub(crate) error: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) rescale: Option<Rescale>,
    /// What the measurements ask for, before any limit; to be remembered.
    pub(crate) recommended: Option<i32>,
    pub(crate) events: Vec<(Severity, &'static str, String)>,
    /// Of the status: what holds whatever becomes of the rescale.
    conditions: Conditions,
    current: i32,
    desired: i32,
    metrics: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rescale {
    pub(crate) from: i32,
    pub(crate) to: i32,
    pub(crate) why: String,
}

/// Whether anything has to be measured to know what to do.
pub(crate) fn needs_measurements(autoscaler: &Autoscaler, current: i32) -> bool {
    let spec = &autoscaler.spec;
    match current {
        0 => wakes_from_zero(spec, &Conditions::of(&autoscaler.status)),
        current => (spec.least()..=spec.max_replicas).contains(&current),
    }
}

/// Who was scaled to nothing by hand stays there; who was by us comes back.
fn wakes_from_zero(spec: &Spec, conditions: &Conditions) -> bool {
    conditions.is_true(AT_ZERO) && (spec.least() != 0 || spec.measures_without_pods())
}

pub(crate) fn plan(facts: &Facts<'_>) -> Plan {
    let Facts { autoscaler, scale, now, .. } = *facts;
    let (spec, current) = (&autoscaler.spec, scale.replicas);
    let mut plan = Plan {
        rescale: None,
        recommended: None,
        events: Vec::new(),
        conditions: Conditions::of(&autoscaler.status),
        current,
        desired: current,
        metrics: Vec::new(),
    };
    let found = "the HPA controller was able to get the target's current scale";
    plan.conditions.set(ABLE, true, "SucceededGetScale", found, now);
    if needs_measurements(autoscaler, current) {
        follow_measurements(&mut plan, facts);
    } else if current == 0 {
        let said = "scaling is disabled since the replica count of the target is zero";
        plan.conditions.set(ACTIVE, false, "ScalingDisabled", said, now);
    } else if current > spec.max_replicas {
        plan.rescale_to(spec.max_replicas, "Current number of replicas above Spec.MaxReplicas");
    } else {
        plan.rescale_to(spec.least(), "Current number of replicas below Spec.MinReplicas");
    }
    plan
}

fn follow_measurements(plan: &mut Plan, facts: &Facts<'_>) {
    let Facts { autoscaler, now, history, settings, .. } = *facts;
    let (spec, current) = (&autoscaler.spec, plan.current);
    let (wanted, metric) = match recommend(plan, facts) {
        Ok(recommended) => recommended,
        Err(error) => {
            // Nothing is known of what should be: what was said of it stays.
            plan.desired = number(&autoscaler.status["desiredReplicas"]);
            plan.events.push((Severity::Warning, "FailedComputeMetricsReplicas", error));
            return;
        }
    };
    plan.recommended = Some(wanted);
    let mut why = match wanted {
        wanted if wanted > current => format!("{metric} above target"),
        wanted if wanted < current => "All metrics below target".to_owned(),
        _ => String::new(),
    };
    let past = Past { history, settings, now };
    let limited = past.limit(spec, current, wanted);
    plan.conditions.set(ABLE, true, limited.able.0, limited.able.1, now);
    let (is_limited, reason, message) = limited.limited;
    plan.conditions.set(LIMITED, is_limited, reason, message, now);
    let mut replicas = limited.replicas;
    if current == 0 && replicas < spec.least() {
        replicas = spec.least();
        if why.is_empty() {
            why = "Current number of replicas below Spec.MinReplicas".to_owned();
        }
    }
    plan.rescale_to(replicas, &why);
}

/// The most that any metric asks for, and which one. One that is not known never makes anything smaller.
fn recommend(plan: &mut Plan, facts: &Facts<'_>) -> Result<(i32, String), String> {
    let Facts { autoscaler, scale, settings, now, .. } = *facts;
    let spec = &autoscaler.spec;
    let pods = facts.pods.map_err(|bad| {
        plan.events.push((Severity::Warning, bad.event, bad.error.clone()));
        plan.conditions.set(ACTIVE, false, bad.reason, &bad.said, now);
        bad.error.clone()
    })?;
    let scene = Scene {
        pods,
        wanted: scale.replicas,
        there: scale.there,
        tolerance: tolerance(spec, settings),
        settings,
        now,
    };
    let namespace = &scale.target.key.namespace;
    let mut best: Option<(i32, String)> = None;
    let mut failures: Vec<Failure> = Vec::new();
    for (metric, measured) in spec.metrics.iter().zip(facts.measured) {
        match propose(&scene, namespace, metric, measured) {
            Ok(proposal) => {
                plan.metrics.push(proposal.status);
                if best.as_ref().is_none_or(|(replicas, _)| proposal.replicas > *replicas) {
                    best = Some((proposal.replicas, proposal.name));
                }
            }
            Err(failure) => {
                // Clients find a metric's status by the metric's place.
                plan.metrics.push(json!({"type": metric.type_name()}));
                plan.events.push((Severity::Warning, failure.reason, failure.error.clone()));
                failures.push(failure);
            }
        }
    }
    let first = failures.first();
    let best = best.filter(|(replicas, _)| first.is_none() || *replicas >= scale.replicas);
    match (best, first) {
        (Some((replicas, metric)), _) => {
            let said = format!("the HPA was able to successfully calculate a replica count from {metric}");
            plan.conditions.set(ACTIVE, true, "ValidMetricFound", &said, now);
            Ok((replicas, metric))
        }
        (None, Some(first)) => {
            let said = format!("the HPA was unable to compute the replica count: {}", first.error);
            plan.conditions.set(ACTIVE, false, first.reason, &said, now);
            let (bad, all) = (failures.len(), spec.metrics.len());
            let whole = &first.whole;
            Err(format!("invalid metrics ({bad} invalid out of {all}), first error is: {whole}"))
        }
        (None, None) => Err("there are no metrics".to_owned()),
    }
}

fn tolerance(spec: &Spec, settings: &Settings) -> Tolerance {
    let behavior = spec.behavior.as_ref();
    let told = |rules: Option<&Rules>| {
        rules.and_then(|rules| part(rules.tolerance.as_deref()?)).unwrap_or(settings.tolerance)
    };
    Tolerance {
        up: told(behavior.and_then(|behavior| behavior.scale_up.as_ref())),
        down: told(behavior.and_then(|behavior| behavior.scale_down.as_ref())),
    }
}

impl Plan {
    fn rescale_to(&mut self, replicas: i32, why: &str) {
        self.desired = replicas;
        self.rescale = (replicas != self.current).then(|| Rescale {
            from: self.current,
            to: replicas,
            why: why.to_owned(),
        });
    }

    /// The status once the plan was carried out, or the API refused to.
    pub(crate) fn status(mut self, autoscaler: &Autoscaler, refused: Option<&str>, now: Timestamp) -> Value {
        let mut scaled_at = autoscaler.status["lastScaleTime"].clone();
        match (&self.rescale, refused) {
            (None, _) => {}
            (Some(rescale), None) => {
                let to = rescale.to;
                let said = format!("the HPA controller was able to update the target scale to {to}");
                self.conditions.set(ABLE, true, "SucceededRescale", &said, now);
                if to == 0 {
                    let said = "the HPA controller scaled the workload to zero";
                    self.conditions.set(AT_ZERO, true, "ScaledToZero", said, now);
                } else if self.conditions.is_true(AT_ZERO) {
                    let said = "the HPA controller did not scale the workload to zero";
                    self.conditions.set(AT_ZERO, false, "NotScaledToZero", said, now);
                }
                scaled_at = written(now).into();
            }
            (Some(_), Some(error)) => {
                let said = format!("the HPA controller was unable to update the target scale: {error}");
                self.conditions.set(ABLE, false, "FailedUpdateScale", &said, now);
                self.desired = number(&autoscaler.status["desiredReplicas"]);
            }
        }
        json!({
            "observedGeneration": autoscaler.metadata.generation,
            "lastScaleTime": scaled_at,
            "currentReplicas": self.current,
            "desiredReplicas": self.desired,
            "currentMetrics": Some(self.metrics).filter(|metrics| !metrics.is_empty()),
            "conditions": self.conditions.into_value(),
        })
    }
}

/// The status of one whose target has no scale that could be found.
pub(crate) fn without_scale(autoscaler: &Autoscaler, error: &str, now: Timestamp) -> Value {
    let mut status = autoscaler.status.clone();
    let mut conditions = Conditions::of(&status);
    let said = format!("the HPA controller was unable to get the target's current scale: {error}");
    conditions.set(ABLE, false, "FailedGetScale", &said, now);
    if !status.is_object() {
        status = json!({});
    }
    status["conditions"] = conditions.into_value();
    status["desiredReplicas"] = number(&status["desiredReplicas"]).into();
    status["observedGeneration"] = autoscaler.metadata.generation.into();
    status
}

/// What has to be written so that the status says this; nothing if it does.
pub(crate) fn difference(autoscaler: &Autoscaler, status: &Value) -> Option<Value> {
    let said = |status: &Value| -> serde_json::Map<String, Value> {
        let mut fields = status.as_object().cloned().unwrap_or_default();
        fields.retain(|_, value| !value.is_null() && *value != 0 && *value != json!([]));
        fields
    };
    (said(&autoscaler.status) != said(status)).then(|| json!({"status": status}))
}

fn number(value: &Value) -> i32 {
    value.as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
