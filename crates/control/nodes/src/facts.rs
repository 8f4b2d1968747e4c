//! What controllers ask of a node and of what a pod puts up with. Knows no controller.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Pod, PodCondition, Taint, Toleration};
use kedge_children::conditions;
use kube::ResourceExt;

pub(crate) const NOT_READY: &str = "node.kubernetes.io/not-ready";
pub(crate) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub(crate) const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
pub(crate) const NO_EXECUTE: &str = "NoExecute";
pub(crate) const NO_SCHEDULE: &str = "NoSchedule";

pub(crate) trait NodeFacts {
    fn condition(&self, type_: &str) -> Option<&NodeCondition>;
    /// The status of its Ready condition; `None` if it never had one.
    fn readiness(&self) -> Option<&str>;
    fn is_ready(&self) -> bool;
    fn taints(&self) -> &[Taint];
    /// What fails together.
    fn zone(&self) -> String;
}

impl NodeFacts for Node {
    fn condition(&self, type_: &str) -> Option<&NodeCondition> {
        let conditions = self.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == type_)
    }

    fn readiness(&self) -> Option<&str> {
        self.condition("Ready").map(|condition| &*condition.status)
    }

    fn is_ready(&self) -> bool {
        self.readiness() == Some("True")
    }

    fn taints(&self) -> &[Taint] {
        self.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
    }

    fn zone(&self) -> String {
        let label = |old: &str, new: &str| self.labels().get(old).or_else(|| self.labels().get(new)).cloned();
        let zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
        let region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
        match (region.unwrap_or_default(), zone.unwrap_or_default()) {
            (region, zone) if region.is_empty() && zone.is_empty() => String::new(),
            // No label can have this character, so no two zones get one name.
            (region, zone) => format!("{region}\0{zone}"),
        }
    }
}

/// A taint that drives away whoever does not tolerate it.
pub(crate) fn expels(taint: &Taint) -> bool {
    taint.effect == NO_EXECUTE
}

pub(crate) fn is_taint(taint: &Taint, key: &str, effect: &str) -> bool {
    taint.key == key && taint.effect == effect
}

/// The first toleration of a pod that matches a taint is the one that counts.
pub(crate) fn toleration<'p>(pod: &'p Pod, taint: &Taint) -> Option<&'p Toleration> {
    let all = pod.spec.as_ref()?.tolerations.as_ref()?;
    all.iter().find(|toleration| tolerates(toleration, taint))
}

fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let any_or = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted.is_empty() || wanted == found)
    };
    if !any_or(&toleration.effect, &taint.effect) || !any_or(&toleration.key, &taint.key) {
        return false;
    }
    match toleration.operator.as_deref() {
        None | Some("" | "Equal") => {
            toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default()
        }
        Some(operator) => operator == "Exists",
    }
}

/// The pod with one more condition, or with another one of that type.
pub(crate) fn with_condition(
    pod: &Pod,
    type_: &str,
    status: &str,
    said: Option<(&str, &str)>,
    now: Timestamp,
) -> Pod {
    let mut pod = pod.clone();
    let condition = PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: said.map(|(reason, _)| reason.to_owned()),
        message: said.map(|(_, message)| message.to_owned()),
        last_transition_time: conditions::at(now),
        observed_generation: pod.metadata.generation,
        ..PodCondition::default()
    };
    conditions::set(&mut pod.status.get_or_insert_default().conditions, condition);
    pod
}

pub(crate) fn after(moment: Timestamp, seconds: i64) -> Timestamp {
    moment.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use kedge_children::testing::{object, pod};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_toleration_that_matches_counts() {
        let taint: Taint =
            serde_json::from_value(json!({"key": "k", "value": "v", "effect": "NoExecute"})).unwrap();
        for (case, tolerations, expected) in [
            ("none", json!([]), None),
            (
                "the same",
                json!([{"key": "k", "value": "v", "effect": "NoExecute", "tolerationSeconds": 1}]),
                Some(1),
            ),
            ("another value", json!([{"key": "k", "value": "w", "tolerationSeconds": 1}]), None),
            ("any value", json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 1}]), Some(1)),
            ("another effect", json!([{"key": "k", "operator": "Exists", "effect": "NoSchedule"}]), None),
            ("everything", json!([{"operator": "Exists", "tolerationSeconds": 1}]), Some(1)),
            ("an operator of another day", json!([{"key": "k", "operator": "Gt", "value": "1"}]), None),
            (
                "the first of two",
                json!([
                    {"key": "k", "operator": "Exists", "tolerationSeconds": 2},
                    {"key": "k", "operator": "Exists", "tolerationSeconds": 1},
                ]),
                Some(2),
            ),
        ] {
            let pod = pod("p", "", |pod| pod["spec"]["tolerations"] = tolerations);
            let found = toleration(&pod, &taint).map(|one| one.toleration_seconds.unwrap());
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn zones_have_two_names() {
        for (labels, zone) in [
            (json!({}), ""),
            (json!({"topology.kubernetes.io/zone": "z"}), "\0z"),
            (json!({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}), "r\0z"),
            (
                json!({"topology.kubernetes.io/zone": "z", "failure-domain.beta.kubernetes.io/zone": "old"}),
                "\0old",
            ),
        ] {
            let node: Node = object(json!({"metadata": {"name": "n", "labels": labels}}));
            assert_eq!(node.zone(), zone);
        }
    }
}
