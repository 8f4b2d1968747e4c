//! What a budget's status should say: how many pods are well, and how many of them may go.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use kedge_children::conditions;
use kedge_children::pods::PodFacts;
use kedge_engine::{Action, Key, Plan, Severity};
use kube::ResourceExt;

use super::expected::Expected;
use crate::facts::after;

/// How long after it was allowed to go a pod may take to leave, in seconds; then it counts as staying.
const LEAVING: i64 = 120;

pub(super) fn plan(
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    expected: Result<Expected, String>,
    now: Timestamp,
) -> Plan {
    let expected = match expected {
        Ok(expected) => expected,
        Err(message) => return failed(budget, &message, now),
    };
    let before = budget.status.clone().unwrap_or_default();
    let (going, stayed) = going(budget, &before, pods, now);
    let healthy =
        pods.iter().filter(|pod| !pod.is_leaving() && !going.contains_key(&pod.name_any()) && pod.is_ready());
    let healthy = i32::try_from(healthy.count()).unwrap_or(i32::MAX);
    // A budget that matches nothing yet must not let the first pods go before they are counted.
    let spare = if expected.pods > 0 { healthy.saturating_sub(expected.healthy).max(0) } else { 0 };
    let look_again = going.values().map(|since| after(since.0, LEAVING)).min();
    let mut counted = budget.clone();
    let status = counted.status.insert(PodDisruptionBudgetStatus {
        current_healthy: Some(healthy),
        desired_healthy: Some(expected.healthy),
        expected_pods: Some(expected.pods),
        disruptions_allowed: Some(spare),
        disrupted_pods: Some(going).filter(|going| !going.is_empty()),
        observed_generation: budget.metadata.generation,
        conditions: before.conditions,
    });
    let (is_allowed, reason) =
        if spare > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    set(status, is_allowed, reason, "", now);
    let written = Action::status(budget, &counted);
    let told = written.is_some().then(|| remarks(budget, pods, expected)).into_iter().flatten();
    let told: Vec<_> = told.collect();
    Plan::from(written).then(told).then(stayed).again_at(look_again)
}

/// Pods that were allowed to go and are still to be seen going; and what to say of those that didn't.
fn going(
    budget: &PodDisruptionBudget,
    before: &PodDisruptionBudgetStatus,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> (BTreeMap<String, Time>, Vec<Action>) {
    let promised = before.disrupted_pods.clone().unwrap_or_default();
    let (mut going, mut stayed) = (BTreeMap::new(), Vec::new());
    for pod in pods.iter().filter(|pod| !pod.is_leaving()) {
        let name = pod.name_any();
        match promised.get(&name) {
            Some(since) if after(since.0, LEAVING) > now => drop(going.insert(name, since.clone())),
            Some(_) => {
                let key = Key::of(budget);
                let message = format!("Pod was expected by PDB {key} to be deleted but it wasn't");
                stayed.push(Action::tell(&**pod, Severity::Warning, "NotDeleted", message));
            }
            None => {}
        }
    }
    (going, stayed)
}

fn set(status: &mut PodDisruptionBudgetStatus, is: &str, reason: &str, message: &str, now: Timestamp) {
    let condition = Condition {
        type_: "DisruptionAllowed".to_owned(),
        status: is.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: status.observed_generation,
        last_transition_time: conditions::at(now).unwrap_or(Time(now)),
    };
    conditions::set(&mut status.conditions, condition);
}

/// Where it can't be told how many pods there should be, none may go.
fn failed(budget: &PodDisruptionBudget, message: &str, now: Timestamp) -> Plan {
    let mut safe = budget.clone();
    let status = safe.status.get_or_insert_default();
    status.disruptions_allowed = Some(0);
    set(status, "False", "SyncFailed", message, now);
    let written = Action::status(budget, &safe);
    let told = written.is_some().then(|| {
        let message = format!("Failed to calculate the number of expected pods: {message}");
        Action::tell(budget, Severity::Warning, "CalculateExpectedPodCountFailed", message)
    });
    Plan::from(written).then(told)
}

/// What people should know about a budget that can't do what they think it does.
fn remarks(budget: &PodDisruptionBudget, pods: &[Arc<Pod>], expected: Expected) -> Vec<Action> {
    let none =
        pods.is_empty().then(|| Action::tell(budget, Severity::Normal, "NoPods", "No matching pods found"));
    let unmanaged = expected.unmanaged.then(|| {
        let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default();
        let message = format!(
            "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of \
             the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please \
             set \".spec.minAvailable\" field of the PDB to an integer value.",
            shown(&selector)
        );
        Action::tell(budget, Severity::Warning, "UnmanagedPods", message)
    });
    none.into_iter().chain(unmanaged).collect()
}

fn shown(selector: &LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten().map(|(name, value)| format!("{name}: {value},"));
    let terms = selector.match_expressions.iter().flatten().map(|term| {
        let values = term.values.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
        format!("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{values}],}},", term.key, term.operator)
    });
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.collect::<String>(),
        terms.collect::<String>()
    )
}
