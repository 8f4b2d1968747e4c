//! What a pod's failure means to its job, by the job's own rules. Knows one pod at a time.

use k8s_openapi::api::batch::v1::{PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// One more failure.
    Counts,
    /// As if it had not happened.
    Ignored,
    /// Its index is beyond hope.
    FailsIndex,
    /// The job is, for this reason.
    FailsJob(String),
}

impl Meaning {
    pub(super) fn counts(&self) -> bool {
        *self != Self::Ignored
    }
}

/// The first rule that fits decides.
pub(super) fn meaning(policy: Option<&PodFailurePolicy>, pod: &Pod) -> Meaning {
    let rules = policy.into_iter().flat_map(|policy| policy.rules.iter().enumerate());
    for (at, rule) in rules {
        let found = match (&rule.on_exit_codes, &rule.on_pod_conditions) {
            (Some(codes), _) => container(codes, pod).map(|(name, code)| {
                format!("Container {name} for pod {} failed with exit code {code}", place(pod))
            }),
            (None, Some(wanted)) => {
                let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
                let fits = |type_: &str, status: &str| {
                    wanted
                        .iter()
                        .any(|one| one.type_ == type_ && one.status.as_deref().unwrap_or("True") == status)
                };
                conditions
                    .into_iter()
                    .find(|condition| fits(&condition.type_, &condition.status))
                    .map(|condition| format!("Pod {} has condition {}", place(pod), condition.type_))
            }
            (None, None) => None,
        };
        match (found, &*rule.action) {
            (Some(_), "Ignore") => return Meaning::Ignored,
            (Some(_), "Count") => return Meaning::Counts,
            (Some(_), "FailIndex") => return Meaning::FailsIndex,
            (Some(what), "FailJob") => {
                return Meaning::FailsJob(format!("{what} matching FailJob rule at index {at}"));
            }
            _ => {}
        }
    }
    Meaning::Counts
}

fn place(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any())
}

/// A container that ended with one of these codes, and its code.
fn container<'a>(wanted: &PodFailurePolicyOnExitCodesRequirement, pod: &'a Pod) -> Option<(&'a str, i32)> {
    let status = pod.status.as_ref()?;
    let all =
        status.container_statuses.iter().flatten().chain(status.init_container_statuses.iter().flatten());
    let ended = |container: &'a ContainerStatus| {
        let ended = container.state.as_ref()?.terminated.as_ref()?;
        Some((&*container.name, ended.exit_code))
    };
    all.filter_map(ended).find(|(name, code)| {
        let named = wanted.container_name.as_deref().is_none_or(|wanted| wanted == *name);
        let listed = wanted.values.contains(code);
        let fits = match &*wanted.operator {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        };
        named && *code != 0 && fits
    })
}

#[cfg(test)]
mod tests;
