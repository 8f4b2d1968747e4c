//! Devices that containers may claim (`resource.k8s.io`): classes, claims, their templates, and what drivers publish.

use serde_json::{Map, Value};

use super::fields::{each, fill, fill_number, fill_text, open, text};
use crate::strategy::{Selectable, Strategy};

struct Classes;
struct Claims;
struct ClaimTemplates;
struct Slices;

pub(super) fn strategy(kind: &str) -> &'static dyn Strategy {
    match kind {
        "DeviceClass" => &Classes,
        "ResourceClaim" => &Claims,
        "ResourceClaimTemplate" => &ClaimTemplates,
        _ => &Slices,
    }
}

impl Strategy for Classes {
    fn default(&self, class: &mut Value) {
        fill(class, "spec", Map::new());
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl Strategy for Claims {
    fn default(&self, claim: &mut Value) {
        fill(claim, "status", Map::new());
        if let Some(spec) = open(claim, "spec") {
            claim_spec(spec);
        }
    }

    fn prepare_create(&self, claim: &mut Value) {
        fill(claim, "status", Map::new());
    }
}

impl Strategy for ClaimTemplates {
    fn default(&self, template: &mut Value) {
        let Some(spec) = open(template, "spec") else { return };
        fill(spec, "metadata", Map::new());
        if let Some(inner) = open(spec, "spec") {
            claim_spec(inner);
        }
    }
}

impl Strategy for Slices {
    fn selectable(&self) -> &'static [Selectable] {
        const FIELDS: &[Selectable] = &[
            Selectable { field: "spec.nodeName", pointer: "/spec/nodeName", absent: "" },
            Selectable { field: "spec.driver", pointer: "/spec/driver", absent: "" },
        ];
        FIELDS
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn claim_spec(spec: &mut Value) {
    let Some(devices) = open(spec, "devices") else { return };
    for request in each(devices, "requests") {
        if let Some(exactly) = request.get_mut("exactly") {
            count(exactly);
        }
        each(request, "firstAvailable").for_each(count);
    }
}

fn count(request: &mut Value) {
    fill_text(request, "allocationMode", "ExactCount");
    if text(request, "allocationMode") == "ExactCount" {
        fill_number(request, "count", 1);
    }
}
