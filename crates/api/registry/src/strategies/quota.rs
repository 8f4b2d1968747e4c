//! ResourceQuotas.

use serde_json::{Map, Value};

use super::fields::fill;
use crate::strategy::Strategy;

pub(super) struct Quotas;

impl Strategy for Quotas {
    fn default(&self, quota: &mut Value) {
        fill(quota, "spec", Map::new());
        fill(quota, "status", Map::new());
    }

    fn prepare_create(&self, quota: &mut Value) {
        fill(quota, "status", Map::new());
    }
}
