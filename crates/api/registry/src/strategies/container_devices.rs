//! Devices that containers may claim (`resource.k8s.io`): classes, claims, their templates, and what drivers publish.

mod claims;
mod device;
mod parts;
mod policy;
mod slices;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, list, open, same, text};
use super::{amounts, names, workload};
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

    fn validate(&self, class: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(class, "spec"));
        parts::selectors(errors, &path.child("selectors"), list(spec, "selectors"));
        parts::configs(errors, &path.child("config"), list(spec, "config"));
        if let Value::String(name) = at(spec, "extendedResourceName")
            && !amounts::is_extended(name)
        {
            let path = path.child("extendedResourceName");
            names::wrong(errors, &path, name, "must be a valid extended resource name");
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl Strategy for Claims {
    fn default(&self, claim: &mut Value) {
        fill(claim, "status", Map::new());
        if let Some(spec) = open(claim, "spec") {
            claims::default(spec);
        }
    }

    fn prepare_create(&self, claim: &mut Value) {
        fill(claim, "status", Map::new());
    }

    fn validate(&self, claim: &Value, errors: &mut Errors) {
        claims::validate(errors, &Path::root("spec"), at(claim, "spec"));
    }

    fn validate_status(&self, new: &Value, old: &Value, errors: &mut Errors) {
        claims::status(errors, new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if !same(at(new, "spec"), at(old, "spec")) {
            errors.invalid(&Path::root("spec"), at(new, "spec"), workload::IMMUTABLE);
        }
    }
}

impl Strategy for ClaimTemplates {
    fn default(&self, template: &mut Value) {
        let Some(spec) = open(template, "spec") else { return };
        fill(spec, "metadata", Map::new());
        if let Some(inner) = open(spec, "spec") {
            claims::default(inner);
        }
    }

    fn validate(&self, template: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        claims::validate(errors, &path.child("spec"), at(at(template, "spec"), "spec"));
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if !same(at(new, "spec"), at(old, "spec")) {
            errors.invalid(&Path::root("spec"), at(new, "spec"), workload::IMMUTABLE);
        }
    }
}

impl Strategy for Slices {
    fn validate(&self, slice: &Value, errors: &mut Errors) {
        slices::validate(errors, &Path::root("spec"), at(slice, "spec"));
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        let (path, now, before) = (Path::root("spec"), at(new, "spec"), at(old, "spec"));
        workload::immutable(errors, &path, now, before, &["driver", "nodeName"]);
        if text(at(now, "pool"), "name") != text(at(before, "pool"), "name") {
            let name = at(at(now, "pool"), "name");
            errors.invalid(&path.child("pool").child("name"), name, workload::IMMUTABLE);
        }
    }

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

#[cfg(test)]
mod tests;
