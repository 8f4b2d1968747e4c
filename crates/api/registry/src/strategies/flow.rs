//! FlowSchemas and PriorityLevelConfigurations: whose requests wait for whose.

use serde_json::{Map, Value};

use super::fields::{fill, fill_number, open};
use crate::strategy::Strategy;

pub(super) struct FlowSchemas;
pub(super) struct PriorityLevels;

impl Strategy for FlowSchemas {
    fn default(&self, schema: &mut Value) {
        fill(schema, "status", Map::new());
        let Some(spec) = open(schema, "spec") else { return };
        fill_number(spec, "matchingPrecedence", 1000);
        fill(spec, "priorityLevelConfiguration", Map::new());
    }

    fn prepare_create(&self, schema: &mut Value) {
        fill(schema, "status", Map::new());
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl Strategy for PriorityLevels {
    fn default(&self, level: &mut Value) {
        fill(level, "status", Map::new());
        let Some(spec) = open(level, "spec") else { return };
        if let Some(exempt) = spec.get_mut("exempt") {
            fill(exempt, "nominalConcurrencyShares", 0);
            fill(exempt, "lendablePercent", 0);
        }
        if let Some(limited) = spec.get_mut("limited") {
            fill(limited, "nominalConcurrencyShares", 30);
            fill(limited, "lendablePercent", 0);
            if let Some(queuing) = limited.pointer_mut("/limitResponse/queuing") {
                fill_number(queuing, "handSize", 8);
                fill_number(queuing, "queues", 64);
                fill_number(queuing, "queueLengthLimit", 50);
            }
        }
    }

    fn prepare_create(&self, level: &mut Value) {
        fill(level, "status", Map::new());
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
