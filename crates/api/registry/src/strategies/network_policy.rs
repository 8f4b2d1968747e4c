//! NetworkPolicies.

use serde_json::{Map, Value, json};

use super::fields::{each, fill, list, open, put};
use crate::strategy::Strategy;

pub(super) struct NetworkPolicies;

impl Strategy for NetworkPolicies {
    fn default(&self, policy: &mut Value) {
        let Some(spec) = open(policy, "spec") else { return };
        fill(spec, "podSelector", Map::new());
        for direction in ["ingress", "egress"] {
            for rule in each(spec, direction) {
                each(rule, "ports").for_each(|port| fill(port, "protocol", "TCP"));
            }
        }
        if list(spec, "policyTypes").is_empty() {
            let types = if list(spec, "egress").is_empty() {
                json!(["Ingress"])
            } else {
                json!(["Ingress", "Egress"])
            };
            put(spec, "policyTypes", types);
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
