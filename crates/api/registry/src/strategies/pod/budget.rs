//! PodDisruptionBudgets: how many pods may be missing at once.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use crate::strategies::fields::{at, fill, has};
use crate::strategies::{names, workload};
use crate::strategy::Strategy;

pub(in crate::strategies) struct Budgets;

impl Strategy for Budgets {
    fn default(&self, budget: &mut Value) {
        fill(budget, "status", empty_status());
    }

    fn prepare_create(&self, budget: &mut Value) {
        fill(budget, "status", empty_status());
    }

    fn validate(&self, budget: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(budget, "spec"));
        let bounds = ["minAvailable", "maxUnavailable"];
        if bounds.iter().all(|field| has(spec, field)) {
            errors.invalid(&path, spec, "minAvailable and maxUnavailable cannot be both set");
        }
        for field in bounds {
            let value = at(spec, field);
            if !value.is_null() {
                names::share(errors, &path.child(field), value);
                names::share_at_most_all(errors, &path.child(field), value);
            }
        }
        names::selector(errors, &path.child("selector"), at(spec, "selector"));
        let policy = at(spec, "unhealthyPodEvictionPolicy");
        let known = &["AlwaysAllow", "IfHealthyBudget"];
        names::one_of_if_set(errors, &path.child("unhealthyPodEvictionPolicy"), policy, known);
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        let counts = &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
        workload::not_negative(errors, &Path::root("status"), at(new, "status"), counts);
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
