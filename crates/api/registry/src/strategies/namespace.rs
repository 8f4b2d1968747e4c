//! Namespaces: a label with their own name, and a finalizer that keeps them until they are empty.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value, json};

use super::fields::{at, carry, fill, fill_text, has, list, open, put, text, texts};
use super::names;
use crate::strategy::{NameRule, Selectable, Strategy};

pub(super) struct Namespaces;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const KEEPER: &str = "kubernetes";

impl Strategy for Namespaces {
    fn default(&self, namespace: &mut Value) {
        name_label(namespace);
        fill(namespace, "spec", Map::new());
        if let Some(status) = open(namespace, "status") {
            fill_text(status, "phase", "Active");
        }
    }

    fn prepare_create(&self, namespace: &mut Value) {
        // A generated name was not known to `default`.
        name_label(namespace);
        put(namespace, "status", json!({"phase": "Active"}));
        let Some(spec) = open(namespace, "spec") else { return };
        if !texts(spec, "finalizers").any(|finalizer| finalizer == KEEPER) {
            let mut finalizers = list(spec, "finalizers").to_vec();
            finalizers.push(KEEPER.into());
            put(spec, "finalizers", finalizers);
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        // Finalizers of the spec go through `finalize` alone.
        carry(new, old, "spec");
    }

    fn validate(&self, namespace: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        for finalizer in texts(at(namespace, "spec"), "finalizers") {
            names::qualified(errors, &path.child("finalizers"), finalizer);
            if !finalizer.contains('/') && !matches!(finalizer, KEEPER | "orphan" | "foregroundDeletion") {
                let detail = "name is neither a standard finalizer name nor is it fully qualified";
                names::wrong(errors, &path.child("finalizers"), finalizer, detail);
            }
        }
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        let phase = text(at(new, "status"), "phase");
        let (expected, when) = if has(at(new, "metadata"), "deletionTimestamp") {
            ("Terminating", "is not empty")
        } else {
            ("Active", "is empty")
        };
        if phase != expected {
            let detail = format!("may only be '{expected}' if `deletionTimestamp` {when}");
            names::wrong(errors, &Path::root("status").child("Phase"), phase, &detail);
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn selectable(&self) -> &'static [Selectable] {
        const FIELDS: &[Selectable] = &[
            Selectable { field: "status.phase", pointer: "/status/phase", absent: "" },
            Selectable { field: "name", pointer: "/metadata/name", absent: "" },
        ];
        FIELDS
    }
}

fn name_label(namespace: &mut Value) {
    let name = text(at(namespace, "metadata"), "name").to_owned();
    if name.is_empty() {
        return;
    }
    let labels = open(namespace, "metadata").and_then(|metadata| open(metadata, "labels"));
    if let Some(labels) = labels
        && text(labels, NAME_LABEL) != name
    {
        put(labels, NAME_LABEL, name);
    }
}
