//! ConfigMaps.

use serde_json::Value;

use crate::strategy::Strategy;

pub(super) struct ConfigMaps;

impl Strategy for ConfigMaps {
    fn default(&self, _map: &mut Value) {}
}
