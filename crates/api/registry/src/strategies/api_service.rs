//! APIServices: which server answers for a group's version.

use serde_json::{Map, Value};

use super::fields::{fill, open};
use crate::strategy::Strategy;

pub(super) struct ApiServices;

impl Strategy for ApiServices {
    fn default(&self, service: &mut Value) {
        fill(service, "status", Map::new());
        if let Some(reference) = open(service, "spec").and_then(|spec| spec.get_mut("service")) {
            fill(reference, "port", 443);
        }
    }

    fn prepare_create(&self, service: &mut Value) {
        fill(service, "status", Map::new());
    }
}
