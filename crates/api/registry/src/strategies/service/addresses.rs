//! ServiceCIDRs and IPAddresses: from where cluster addresses come, and who holds one.

use serde_json::{Map, Value};

use crate::strategies::fields::fill;
use crate::strategy::Strategy;

pub(in crate::strategies) struct Ranges;
pub(in crate::strategies) struct Addresses;

impl Strategy for Ranges {
    fn default(&self, range: &mut Value) {
        fill(range, "status", Map::new());
    }

    fn prepare_create(&self, range: &mut Value) {
        fill(range, "status", Map::new());
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl Strategy for Addresses {
    fn counts_generations(&self) -> bool {
        true
    }
}
