//! Which taints a pod puts up with. Knows taints and tolerations, no node.

use k8s_openapi::api::core::v1::{Taint, Toleration};

pub const NO_SCHEDULE: &str = "NoSchedule";
pub const NO_EXECUTE: &str = "NoExecute";
pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";

/// The first taint that keeps a pod with these tolerations away.
pub fn forbidding<'t>(taints: &'t [Taint], tolerations: &[Toleration]) -> Option<&'t Taint> {
    let forbid = |taint: &&Taint| matches!(&*taint.effect, NO_SCHEDULE | NO_EXECUTE);
    taints.iter().filter(forbid).find(|taint| !tolerated(taint, tolerations))
}

pub fn tolerated(taint: &Taint, tolerations: &[Toleration]) -> bool {
    tolerations.iter().any(|toleration| covers(toleration, taint))
}

/// A toleration without an effect covers all effects, one without a key all keys.
fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let says = |text: &Option<String>, other: &str| {
        text.as_deref().is_none_or(|text| text.is_empty() || text == other)
    };
    if !says(&toleration.effect, &taint.effect) || !says(&toleration.key, &taint.key) {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "Exists" => true,
        "" | "Equal" => {
            toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
