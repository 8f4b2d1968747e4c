//! CustomResourceDefinitions. What they define is served elsewhere; here is only whether they make sense.

use kedge_kinds::field::Errors;
use serde_json::{Value, json};

use super::fields::{at, fill, fill_text, flag, list, open, put, text};
use crate::strategy::Strategy;

pub(super) struct CustomDefinitions;

impl Strategy for CustomDefinitions {
    fn default(&self, definition: &mut Value) {
        if let Some(spec) = open(definition, "spec") {
            if let Some(names) = open(spec, "names") {
                let kind = text(names, "kind").to_owned();
                if !kind.is_empty() {
                    fill_text(names, "singular", &kind.to_lowercase());
                    fill_text(names, "listKind", &format!("{kind}List"));
                }
            }
            fill(spec, "conversion", json!({"strategy": "None"}));
            if let Some(service) = spec.pointer_mut("/conversion/webhook/clientConfig/service") {
                fill(service, "port", 443);
            }
        }
        status(definition);
    }

    fn prepare_create(&self, definition: &mut Value) {
        status(definition);
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value) {
        // A new storage version joins those that objects may be stored in.
        let storage = list(at(new, "spec"), "versions").iter().find(|version| flag(version, "storage"));
        let Some(name) = storage.map(|version| text(version, "name").to_owned()) else { return };
        let mut stored = list(at(new, "status"), "storedVersions").to_vec();
        if !stored.iter().any(|version| *version == name.as_str()) {
            stored.push(name.into());
            if let Some(status) = open(new, "status") {
                put(status, "storedVersions", stored);
            }
        }
    }

    fn validate(&self, definition: &Value, errors: &mut Errors) {
        kedge_custom::check(definition, None, errors);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        kedge_custom::check(new, Some(old), errors);
    }

    fn judges_changes_whole(&self) -> bool {
        true
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn status(definition: &mut Value) {
    let stored = list(at(definition, "spec"), "versions").iter().find(|version| flag(version, "storage"));
    let stored = stored.map(|version| text(version, "name").to_owned());
    let Some(status) = open(definition, "status") else { return };
    fill(status, "acceptedNames", json!({"kind": "", "plural": ""}));
    fill(status, "conditions", Value::Null);
    if list(status, "storedVersions").is_empty() {
        put(status, "storedVersions", stored.map_or(Value::Null, |name| json!([name])));
    }
}
