//! What a DaemonSet asks for, with Kubernetes' defaults where it says nothing.

use k8s_openapi::api::apps::v1::{DaemonSet, RollingUpdateDaemonSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kedge_children::share;

use crate::revisions::{POD_LABEL, Revised};

const DEFAULT_LIMIT: usize = 10;

impl Revised for DaemonSet {
    const HASH_LABEL: &'static str = POD_LABEL;

    fn template(&self) -> Option<&PodTemplateSpec> {
        self.spec.as_ref().map(|spec| &spec.template)
    }

    fn selector(&self) -> Option<&LabelSelector> {
        self.spec.as_ref().map(|spec| &spec.selector)
    }

    fn collisions(&self) -> i32 {
        self.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0)
    }

    fn limit(&self) -> usize {
        let limit = self.spec.as_ref().and_then(|spec| spec.revision_history_limit);
        limit.map_or(DEFAULT_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }
}

pub(super) fn min_ready_seconds(set: &DaemonSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.min_ready_seconds).unwrap_or(0)
}

pub(super) fn is_rolled(set: &DaemonSet) -> bool {
    let strategy = set.spec.as_ref().and_then(|spec| spec.update_strategy.as_ref()?.type_.as_deref());
    strategy != Some("OnDelete")
}

fn rolling(set: &DaemonSet) -> Option<&RollingUpdateDaemonSet> {
    set.spec.as_ref()?.update_strategy.as_ref()?.rolling_update.as_ref().filter(|_| is_rolled(set))
}

/// On how many of so many nodes there may be two pods during an update, and on how many none; never neither.
pub(super) fn slack(set: &DaemonSet, nodes: usize) -> (usize, usize) {
    let all = i32::try_from(nodes).unwrap_or(i32::MAX);
    let number = |count: i32| usize::try_from(count).unwrap_or(0);
    let surge = number(share::up(rolling(set).and_then(|limits| limits.max_surge.as_ref()), all));
    let missing = number(share::up(rolling(set).and_then(|limits| limits.max_unavailable.as_ref()), all));
    (surge, if nodes > 0 && surge == 0 && missing == 0 { 1 } else { missing })
}

/// Whether a node may have two of its pods, an old one and a new one.
pub(super) fn may_surge(set: &DaemonSet) -> bool {
    slack(set, 1).0 > 0
}
