//! What an autoscaler says of itself: conditions in JSON, whose moment is that of the last change of their status.

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) const ABLE: &str = "AbleToScale";
pub(crate) const ACTIVE: &str = "ScalingActive";
pub(crate) const LIMITED: &str = "ScalingLimited";
pub(crate) const AT_ZERO: &str = "ScaledToZero";

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conditions(Vec<Value>);

impl Conditions {
    pub(crate) fn of(status: &Value) -> Self {
        Self(status["conditions"].as_array().cloned().unwrap_or_default())
    }

    pub(crate) fn is_true(&self, type_: &str) -> bool {
        self.0.iter().any(|known| known["type"] == type_ && known["status"] == "True")
    }

    pub(crate) fn set(&mut self, type_: &str, holds: bool, reason: &str, message: &str, now: Timestamp) {
        let status = if holds { "True" } else { "False" };
        let known = self.0.iter_mut().find(|known| known["type"] == type_);
        let since = known.as_ref().filter(|known| known["status"] == status);
        let since = since.map_or_else(|| written(now).into(), |known| known["lastTransitionTime"].clone());
        let condition = json!({
            "type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
        });
        match known {
            Some(known) => *known = condition,
            None => self.0.push(condition),
        }
    }

    pub(crate) fn into_value(self) -> Value {
        self.0.into()
    }
}

/// Kubernetes' times have whole seconds.
pub(crate) fn written(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
