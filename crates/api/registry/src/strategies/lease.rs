//! Leases, and the candidates for them.

use serde_json::{Map, Value};

use super::fields::fill;
use crate::strategy::Strategy;

pub(super) struct Leases;

impl Strategy for Leases {
    fn default(&self, lease: &mut Value) {
        fill(lease, "spec", Map::new());
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}
