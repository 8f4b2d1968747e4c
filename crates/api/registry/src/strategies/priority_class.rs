//! PriorityClasses.

use serde_json::Value;

use super::fields::fill;
use crate::strategy::Strategy;

pub(super) struct PriorityClasses;

impl Strategy for PriorityClasses {
    fn default(&self, class: &mut Value) {
        fill(class, "value", 0);
        fill(class, "preemptionPolicy", "PreemptLowerPriority");
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
