//! Devices that containers may claim (`resource.k8s.io`): classes, claims, their templates, and what drivers publish.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, each, fill, fill_number, fill_text, has, list, number, open, same, text};
use super::pod::volumes::csi_driver;
use super::{names, workload};
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

    fn validate(&self, claim: &Value, errors: &mut Errors) {
        requests(errors, &Path::root("spec"), at(claim, "spec"));
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
            claim_spec(inner);
        }
    }

    fn validate(&self, template: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        requests(errors, &path.child("spec"), at(at(template, "spec"), "spec"));
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if !same(at(new, "spec"), at(old, "spec")) {
            errors.invalid(&Path::root("spec"), at(new, "spec"), workload::IMMUTABLE);
        }
    }
}

impl Strategy for Slices {
    fn validate(&self, slice: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(slice, "spec"));
        csi_driver(errors, &path.child("driver"), text(spec, "driver"));
        if text(at(spec, "pool"), "name").is_empty() {
            errors.required(&path.child("pool").child("name"), "");
        }
        let devices = list(spec, "devices");
        for (i, device) in devices.iter().enumerate() {
            let path = path.child("devices");
            let path = path.index(i);
            let name = text(device, "name");
            names::label(errors, &path.child("name"), name);
            if devices.iter().take(i).any(|other| text(other, "name") == name) {
                errors.duplicate(&path.child("name"), &name.into());
            }
        }
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

fn requests(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let path = path.child("devices");
    let requests = list(at(spec, "devices"), "requests");
    if requests.len() > 32 {
        errors.too_many(&path.child("requests"), requests.len(), 32);
    }
    for (i, request) in requests.iter().enumerate() {
        let path = path.child("requests");
        let path = path.index(i);
        match text(request, "name") {
            "" => errors.required(&path.child("name"), ""),
            name => {
                names::label(errors, &path.child("name"), name);
                if requests.iter().take(i).any(|other| text(other, "name") == name) {
                    errors.duplicate(&path.child("name"), &name.into());
                }
            }
        }
        let options = list(request, "firstAvailable");
        match (has(request, "exactly"), !options.is_empty()) {
            (true, true) => errors.invalid(
                &path,
                request,
                "exactly one of `exactly` or `firstAvailable` must be specified",
            ),
            (false, false) => {
                errors.required(&path, "exactly one of `exactly` or `firstAvailable` is required");
            }
            (true, false) => wanted(errors, &path.child("exactly"), at(request, "exactly")),
            (false, true) => {
                for (j, option) in options.iter().enumerate() {
                    wanted(errors, &path.child("firstAvailable").index(j), option);
                }
            }
        }
    }
}

fn wanted(errors: &mut Errors, path: &Path<'_>, request: &Value) {
    match text(request, "deviceClassName") {
        "" => errors.required(&path.child("deviceClassName"), ""),
        class => names::subdomain(errors, &path.child("deviceClassName"), class),
    }
    let mode = text(request, "allocationMode");
    names::one_of(errors, &path.child("allocationMode"), mode, &["All", "ExactCount"]);
    match mode {
        "ExactCount" if number(request, "count") <= 0 => {
            errors.invalid(&path.child("count"), at(request, "count"), "must be greater than zero");
        }
        "All" if number(request, "count") != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            errors.invalid(&path.child("count"), at(request, "count"), detail);
        }
        _ => {}
    }
}
