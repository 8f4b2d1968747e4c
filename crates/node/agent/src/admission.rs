//! Whether a pod that was bound to this node may run on it, besides having room: what the node is short of, what it is, and
//! what the pod wants to change in it. Decides and does nothing else. A pod that ran already is never asked.

mod apparmor;
mod sysctls;

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use kedge_children::placement::{is_tolerated, is_wanted, tolerates};

use crate::memory::Verdict;
use crate::spec::resources::Qos;

pub(crate) use self::apparmor::is_enabled as has_apparmor;
pub(crate) use self::sysctls::dotted;

const CRITICAL: i32 = 2_000_000_000;

/// What a pod is judged by.
pub(crate) struct Ground<'a> {
    /// As the API knows it; none if nobody could be asked.
    pub(crate) node: Option<&'a Node>,
    /// What the node is short of: `MemoryPressure`…
    pub(crate) pressures: &'a [&'static str],
    /// Names of sysctls, or beginnings that end in a star, that may be set although others can feel it.
    pub(crate) unsafe_sysctls: &'a [String],
    /// The kernel can confine programs by AppArmor.
    pub(crate) apparmor: bool,
}

/// Nothing, or why the pod may not run.
pub(crate) fn judge(pod: &Pod, ground: &Ground<'_>) -> Result<(), Verdict> {
    let refused = |reason: &str, message: String| Err(Verdict::new(reason, message));
    if let Some(message) = pressed(pod, ground.pressures) {
        return refused("Evicted", message);
    }
    if let Some(message) = sysctls::forbidden(pod, ground.unsafe_sysctls) {
        return refused("SysctlForbidden", message);
    }
    if !ground.apparmor && apparmor::is_needed(pod) {
        let message = "Cannot enforce AppArmor: AppArmor is not enabled on the host";
        return refused("AppArmor", message.to_owned());
    }
    if let Some((reason, message)) = foreign(pod, ground.node) {
        return refused(reason, message);
    }
    let spec = pod.spec.clone().unwrap_or_default();
    let failed =
        |predicate: &str, what: &str| refused(predicate, format!("Predicate {predicate} failed: {what}"));
    if let Some(node) = ground.node {
        if !is_wanted(&spec, node) {
            return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
        }
        let tolerations = spec.tolerations.clone().unwrap_or_default();
        if !is_static(pod) && !is_tolerated(&tolerations, node, &["NoExecute"]) {
            return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate");
        }
    }
    Ok(())
}

/// Whether the node can do without it: never, if others cannot.
pub(crate) fn is_critical(pod: &Pod) -> bool {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority);
    is_static(pod) || priority.is_some_and(|priority| priority >= CRITICAL)
}

fn is_static(pod: &Pod) -> bool {
    let annotation = |name: &str| pod.metadata.annotations.as_ref().and_then(|all| all.get(name));
    annotation("kubernetes.io/config.source").is_some_and(|source| source != "api")
        || annotation("kubernetes.io/config.mirror").is_some()
}

fn pressed(pod: &Pod, pressures: &[&'static str]) -> Option<String> {
    if pressures.is_empty() || is_critical(pod) {
        return None;
    }
    if pressures == ["MemoryPressure"] {
        let taint = Taint {
            key: "node.kubernetes.io/memory-pressure".to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        };
        let tolerations = pod.spec.iter().flat_map(|spec| spec.tolerations.iter().flatten());
        if Qos::of(pod) != Qos::BestEffort || tolerations.into_iter().any(|one| tolerates(one, &taint)) {
            return None;
        }
    }
    Some(format!("The node had condition: [{}]. ", pressures.join(" ")))
}

/// A pod for another kind of system.
fn foreign(pod: &Pod, node: Option<&Node>) -> Option<(&'static str, String)> {
    let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get("kubernetes.io/os"));
    if label.is_some_and(|system| system != "linux") {
        let message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
        return Some(("PodOSSelectorNodeLabelDoesNotMatch", message.to_owned()));
    }
    let spec = pod.spec.as_ref()?;
    if spec.os.as_ref().is_some_and(|os| os.name != "linux") {
        return Some((
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS".to_owned(),
        ));
    }
    let policy = spec.security_context.as_ref().and_then(|own| own.supplemental_groups_policy.as_deref());
    let features = node.and_then(|node| node.status.as_ref()?.features.as_ref());
    let can = features.and_then(|features| features.supplemental_groups_policy) == Some(true);
    if policy == Some("Strict") && node.is_some() && !can {
        let message = "SupplementalGroupsPolicy=Strict is not supported in this node";
        return Some(("SupplementalGroupsPolicyNotSupported", message.to_owned()));
    }
    None
}

#[cfg(test)]
mod tests;
