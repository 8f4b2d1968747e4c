//! Ingresses and their classes.

use serde_json::{Map, Value, json};

use super::fields::{fill, open};
use crate::strategy::Strategy;

pub(super) struct Ingresses;
pub(super) struct IngressClasses;

impl Strategy for Ingresses {
    fn default(&self, ingress: &mut Value) {
        fill(ingress, "spec", Map::new());
        fill(ingress, "status", json!({"loadBalancer": {}}));
    }

    fn prepare_create(&self, ingress: &mut Value) {
        fill(ingress, "status", json!({"loadBalancer": {}}));
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl Strategy for IngressClasses {
    fn default(&self, class: &mut Value) {
        let Some(spec) = open(class, "spec") else { return };
        if let Some(parameters) = spec.get_mut("parameters") {
            fill(parameters, "scope", "Cluster");
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
