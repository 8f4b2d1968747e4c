//! APIServices: which server answers for a group's version.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, flag, has, number, open, text};
use super::names;
use crate::strategy::{NameRule, Strategy};

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

    fn validate(&self, service: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(service, "spec"));
        let (group, version) = (text(spec, "group"), text(spec, "version"));
        let (name, expected) = (text(at(service, "metadata"), "name"), format!("{version}.{group}"));
        if name != expected {
            let detail = format!("must be `spec.version+\".\"+spec.group`: {expected:?}");
            names::wrong(errors, &Path::root("metadata").child("name"), name, &detail);
        }
        if !group.is_empty() {
            names::subdomain(errors, &path.child("group"), group);
        } else if version != "v1" {
            let detail = "only v1 may have an empty group and it better be legacy kube";
            errors.required(&path.child("group"), detail);
        }
        names::label_1035(errors, &path.child("version"), version);
        for (field, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
            let value = number(spec, field);
            if !(1..=most).contains(&value) {
                let detail = format!("must be positive and less than {most}");
                errors.invalid(&path.child(field), &value.into(), &detail);
            }
        }
        let insecure = flag(spec, "insecureSkipTLSVerify");
        let at_insecure = path.child("insecureSkipTLSVerify");
        if !has(spec, "service") {
            if insecure {
                errors.invalid(
                    &at_insecure,
                    &true.into(),
                    "local APIServices may not have insecureSkipTLSVerify",
                );
            }
            return;
        }
        for field in ["namespace", "name"] {
            if text(at(spec, "service"), field).is_empty() {
                errors.required(&path.child("service").child(field), "");
            }
        }
        if insecure && !text(spec, "caBundle").is_empty() {
            errors.invalid(&at_insecure, &true.into(), "may not be true if caBundle is present");
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}
