//! PodDisruptionBudgets: how many pods may be missing at once.

use serde_json::{Value, json};

use crate::strategies::fields::fill;
use crate::strategy::Strategy;

pub(in crate::strategies) struct Budgets;

impl Strategy for Budgets {
    fn default(&self, budget: &mut Value) {
        fill(budget, "status", empty_status());
    }

    fn prepare_create(&self, budget: &mut Value) {
        fill(budget, "status", empty_status());
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

/// The counts are shown before the controller has counted anything.
fn empty_status() -> Value {
    json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0})
}
