//! Volumes and budgets: every claim in use has a volume of its own, and budgets count what is there.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;

use super::{All, is_active, is_ready, same};

pub(super) fn check(all: &All<'_>, wrong: &mut Vec<String>) {
    let used: BTreeSet<String> = all.kind::<Pod>().iter().flat_map(claims_of).collect();
    let mut volumes = BTreeSet::new();
    for claim in all.kind::<PersistentVolumeClaim>() {
        let phase = claim.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default();
        if used.contains(&claim.name_any()) {
            same(wrong, &claim, "the phase of a claim in use", &*phase, "Bound");
        }
        if let Some(volume) = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()) {
            same(wrong, &claim, "whether its volume is there", all.has("PersistentVolume", &volume), true);
            same(wrong, &claim, "whether its volume is its own", volumes.insert(volume), true);
        }
    }
    for volume in all.kind::<PersistentVolume>() {
        let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref()?.name.clone());
        let there = claim.as_ref().is_some_and(|claim| all.has("PersistentVolumeClaim", claim));
        let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default();
        if there {
            same(wrong, &volume, "the phase of a volume with a claim", phase, "Bound");
        }
    }
    all.kind::<PodDisruptionBudget>().iter().for_each(|budget| counted(all, budget, wrong));
}

fn claims_of(pod: &Pod) -> Vec<String> {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let claims = volumes.into_iter().filter_map(|volume| volume.persistent_volume_claim.as_ref());
    if is_active(pod) { claims.map(|claim| claim.claim_name.clone()).collect() } else { Vec::new() }
}

fn counted(all: &All<'_>, budget: &PodDisruptionBudget, wrong: &mut Vec<String>) {
    let Some(status) = &budget.status else {
        return wrong.push(format!("{} has no status", budget.name_any()));
    };
    let labels = budget
        .spec
        .as_ref()
        .and_then(|spec| spec.selector.as_ref()?.match_labels.clone())
        .unwrap_or_default();
    let matches = |pod: &Pod| labels.iter().all(|(label, value)| pod.labels().get(label) == Some(value));
    let pods: Vec<Pod> = all.kind::<Pod>().into_iter().filter(|pod| matches(pod)).collect();
    let healthy = i32::try_from(pods.iter().filter(|pod| is_ready(pod)).count()).unwrap_or(i32::MAX);
    same(wrong, budget, "status.currentHealthy", status.current_healthy.unwrap_or(0), healthy);
    same(wrong, budget, "status.observedGeneration", status.observed_generation, budget.metadata.generation);
    let allowed = if status.expected_pods.unwrap_or(0) == 0 { 0 } else { (healthy - 1).max(0) };
    same(wrong, budget, "status.disruptionsAllowed", status.disruptions_allowed.unwrap_or(0), allowed);
    let marked = status.disrupted_pods.as_ref().map_or(0, std::collections::BTreeMap::len);
    same(wrong, budget, "the number of disrupted pods", marked, 0);
}
