//! Leases, and the candidates for them.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, int, text};
use super::names;
use crate::strategy::Strategy;

pub(super) struct Leases;

impl Strategy for Leases {
    fn default(&self, lease: &mut Value) {
        fill(lease, "spec", Map::new());
    }

    fn validate(&self, lease: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(lease, "spec"));
        if let Some(seconds) = int(spec, "leaseDurationSeconds") {
            names::positive(errors, &path.child("leaseDurationSeconds"), seconds);
        }
        if let Some(transitions) = int(spec, "leaseTransitions") {
            names::not_negative(errors, &path.child("leaseTransitions"), transitions);
        }
        if !text(spec, "preferredHolder").is_empty() && text(spec, "strategy").is_empty() {
            errors
                .forbidden(&path.child("preferredHolder"), "may only be specified if `strategy` is defined");
        }
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}
