//! What a StatefulSet asks for, with Kubernetes' defaults where it says nothing.

use k8s_openapi::api::apps::v1::{RollingUpdateStatefulSetStrategy, StatefulSet};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kedge_children::share;

use crate::revisions::revised;

revised!(StatefulSet, "controller.kubernetes.io/hash");

pub(super) fn wanted(set: &StatefulSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

/// The numbers that its pods have.
pub(super) fn ordinals(set: &StatefulSet) -> std::ops::Range<i32> {
    let first = set.spec.as_ref().and_then(|spec| spec.ordinals.as_ref()?.start).unwrap_or(0);
    first..first.saturating_add(wanted(set))
}

pub(super) fn min_ready_seconds(set: &StatefulSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
}

/// One after the other, each only when those before it work.
pub(super) fn is_ordered(set: &StatefulSet) -> bool {
    set.spec.as_ref().and_then(|spec| spec.pod_management_policy.as_deref()) != Some("Parallel")
}

pub(super) fn is_rolled(set: &StatefulSet) -> bool {
    let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref()?.type_.as_deref());
    strategy != Some("OnDelete")
}

fn rolling(set: &StatefulSet) -> Option<&RollingUpdateStatefulSetStrategy> {
    set.spec.as_ref()?.update_strategy.as_ref()?.rolling_update.as_ref()
}

/// How many of the first pods keep their old template.
pub(super) fn partition(set: &StatefulSet) -> i32 {
    rolling(set).and_then(|rolling| rolling.partition).unwrap_or(0)
}

/// How many pods may be missing during an update; none if it says nothing about it.
pub(super) fn max_unavailable(set: &StatefulSet) -> Option<i32> {
    let given = rolling(set)?.max_unavailable.as_ref()?;
    Some(share::down(Some(given), wanted(set)).max(1))
}

pub(super) fn claim_templates(set: &StatefulSet) -> &[PersistentVolumeClaim] {
    set.spec.as_ref().and_then(|spec| spec.volume_claim_templates.as_deref()).unwrap_or_default()
}

/// Whether the volumes of pods that are no longer wanted go, too.
pub(super) fn drops_when_scaled(set: &StatefulSet) -> bool {
    let policy = set.spec.as_ref().and_then(|spec| spec.persistent_volume_claim_retention_policy.as_ref());
    policy.and_then(|policy| policy.when_scaled.as_deref()) == Some("Delete")
}

/// Whether the volumes go with the set.
pub(super) fn drops_when_deleted(set: &StatefulSet) -> bool {
    let policy = set.spec.as_ref().and_then(|spec| spec.persistent_volume_claim_retention_policy.as_ref());
    policy.and_then(|policy| policy.when_deleted.as_deref()) == Some("Delete")
}
