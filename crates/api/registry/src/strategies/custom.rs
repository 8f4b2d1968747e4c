//! Kinds that users define: what holds for them stands in their definitions, and the kind itself carries it.

use kedge_kinds::Kind;
use kedge_kinds::field::Errors;
use serde_json::Value;

use crate::strategy::Strategy;

/// A custom kind of which only its place is known: what is left of it when its definition goes.
pub(super) struct Bare;

impl Strategy for Bare {}

impl Strategy for Kind {
    fn default(&self, object: &mut Value) {
        if let Some(rules) = &self.rules {
            rules.default(object);
        }
    }

    // A status that was taken away has its defaults again.
    fn prepare_create(&self, object: &mut Value) {
        self.default(object);
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value) {
        self.default(new);
    }

    fn validate(&self, object: &Value, errors: &mut Errors) {
        if let Some(rules) = &self.rules {
            rules.validate(object, None, errors);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if let Some(rules) = &self.rules {
            rules.validate(new, Some(old), errors);
        }
    }

    fn validate_status(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if let Some(rules) = &self.rules {
            rules.validate_status(new, old, errors);
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}
