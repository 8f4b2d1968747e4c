//! PodTemplate objects, and what every workload does with the template inside it.

use serde_json::Value;

use super::defaults;
use crate::strategy::Strategy;

pub(in crate::strategies) struct Templates;

impl Strategy for Templates {
    fn default(&self, object: &mut Value) {
        defaults::template(object);
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
