//! CertificateSigningRequests. Who asks is written by the generic path, from the request.

use serde_json::{Map, Value};

use super::fields::fill;
use crate::strategy::{Selectable, Strategy};

pub(super) struct SigningRequests;

impl Strategy for SigningRequests {
    fn default(&self, request: &mut Value) {
        fill(request, "spec", Map::new());
        fill(request, "status", Map::new());
    }

    fn prepare_create(&self, request: &mut Value) {
        fill(request, "status", Map::new());
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        super::fields::carry(new, old, "spec");
    }

    fn selectable(&self) -> &'static [Selectable] {
        &[Selectable { field: "spec.signerName", pointer: "/spec/signerName", absent: "" }]
    }
}
