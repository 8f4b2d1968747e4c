//! PriorityClasses.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::fields::{at, fill, flag, number, text};
use super::{names, workload};
use crate::strategy::Strategy;

pub(super) struct PriorityClasses;

const HIGHEST_OF_USERS: i64 = 1_000_000_000;
/// The classes that the system brings along, with their values.
const SYSTEM: &[(&str, i64)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

impl Strategy for PriorityClasses {
    fn default(&self, class: &mut Value) {
        fill(class, "value", 0);
        fill(class, "preemptionPolicy", "PreemptLowerPriority");
    }

    fn validate(&self, class: &Value, errors: &mut Errors) {
        let (name, value) = (text(at(class, "metadata"), "name"), number(class, "value"));
        if name.starts_with("system-") {
            if let Some(problem) = system_problem(name, value, flag(class, "globalDefault")) {
                let detail = format!(
                    "priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
                );
                errors.forbidden(&Path::root("metadata").child("name"), &detail);
            }
        } else if value > HIGHEST_OF_USERS {
            let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}");
            errors.forbidden(&Path::root("value"), &detail);
        }
        let policy = text(class, "preemptionPolicy");
        names::one_of(errors, &Path::root("preemptionPolicy"), policy, &["PreemptLowerPriority", "Never"]);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if number(new, "value") != number(old, "value") {
            errors.forbidden(&Path::root("value"), "may not be changed in an update.");
        }
        if text(new, "preemptionPolicy") != text(old, "preemptionPolicy") {
            let policy = at(new, "preemptionPolicy");
            errors.invalid(&Path::root("preemptionPolicy"), policy, workload::IMMUTABLE);
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn system_problem(name: &str, value: i64, global_default: bool) -> Option<String> {
    let Some((_, expected)) = SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if value != *expected {
        return Some(format!("value of {name} PriorityClass must be {expected}"));
    }
    global_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}
