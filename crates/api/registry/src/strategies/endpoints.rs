//! Endpoints and EndpointSlices: where a service's traffic may go.

use serde_json::{Map, Value};

use super::fields::{each, fill, fill_text};
use crate::strategy::Strategy;

pub(super) struct Endpoints;
pub(super) struct EndpointSlices;

impl Strategy for Endpoints {
    fn default(&self, endpoints: &mut Value) {
        for subset in each(endpoints, "subsets") {
            each(subset, "ports").for_each(|port| fill_text(port, "protocol", "TCP"));
        }
    }

    fn create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for EndpointSlices {
    fn default(&self, slice: &mut Value) {
        fill(slice, "endpoints", Value::Null);
        fill(slice, "ports", Value::Null);
        for port in each(slice, "ports") {
            fill(port, "name", "");
            fill(port, "protocol", "TCP");
        }
        each(slice, "endpoints").for_each(|endpoint| fill(endpoint, "conditions", Map::new()));
    }

    fn counts_generations(&self) -> bool {
        true
    }
}
