//! What a DaemonSet asks for, with Kubernetes' defaults where it says nothing.

use k8s_openapi::api::apps::v1::{DaemonSet, RollingUpdateDaemonSet};
use kedge_children::share;

use crate::revisions::{POD_LABEL, revised};

revised!(DaemonSet, POD_LABEL);

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
