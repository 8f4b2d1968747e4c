//! What controllers ask of a pod. Knows no controller.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodCondition, PodTemplateSpec};

pub trait PodFacts {
    fn phase(&self) -> &str;
    fn condition(&self, type_: &str) -> Option<&PodCondition>;
    fn is_leaving(&self) -> bool;
    /// It runs or will: it has not ended and nobody has told it to.
    fn is_active(&self) -> bool;
    fn is_ready(&self) -> bool;
    fn ready_since(&self) -> Option<Timestamp>;
    /// When it has been ready for so long that it counts as available; `None` if it isn't ready.
    fn available_from(&self, min_ready_seconds: i32) -> Option<Timestamp>;
    fn node(&self) -> Option<&str>;
}

impl PodFacts for Pod {
    fn phase(&self) -> &str {
        self.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
    }

    fn condition(&self, type_: &str) -> Option<&PodCondition> {
        let conditions = self.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().find(|condition| condition.type_ == type_)
    }

    fn is_leaving(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    fn is_active(&self) -> bool {
        !self.is_leaving() && !matches!(self.phase(), "Succeeded" | "Failed")
    }

    fn is_ready(&self) -> bool {
        self.condition("Ready").is_some_and(|condition| condition.status == "True")
    }

    fn ready_since(&self) -> Option<Timestamp> {
        let ready = self.condition("Ready").filter(|condition| condition.status == "True")?;
        ready.last_transition_time.as_ref().map(|time| time.0)
    }

    fn available_from(&self, min_ready_seconds: i32) -> Option<Timestamp> {
        if !self.is_ready() {
            return None;
        }
        if min_ready_seconds <= 0 {
            return Some(Timestamp::MIN);
        }
        self.ready_since()?.saturating_add(SignedDuration::from_secs(min_ready_seconds.into())).ok()
    }

    fn node(&self) -> Option<&str> {
        self.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
    }
}

/// A pod as its template describes it; nobody's yet, and without a name.
pub fn from_template(template: Option<&PodTemplateSpec>, namespace: &str) -> Pod {
    let template = template.cloned().unwrap_or_default();
    let mut pod = Pod { spec: template.spec, ..Pod::default() };
    let described = template.metadata.unwrap_or_default();
    pod.metadata.labels = described.labels;
    pod.metadata.annotations = described.annotations;
    pod.metadata.finalizers = described.finalizers;
    pod.metadata.namespace = Some(namespace.to_owned());
    pod
}
