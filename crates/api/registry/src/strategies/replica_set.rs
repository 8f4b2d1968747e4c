//! ReplicaSets and their elder, ReplicationControllers, whose selector is a plain map.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Value, json};

use super::fields::{at, fill, has, map, open, put};
use super::pod::defaults;
use super::workload;
use crate::strategy::{Selectable, Strategy};

pub(super) struct ReplicaSets;
pub(super) struct ReplicationControllers;

const COUNTED: &[Selectable] =
    &[Selectable { field: "status.replicas", pointer: "/status/replicas", absent: "0" }];

impl Strategy for ReplicaSets {
    fn default(&self, set: &mut Value) {
        replicas(set);
    }

    fn prepare_create(&self, set: &mut Value) {
        fill(set, "status", json!({"replicas": 0}));
    }

    fn validate(&self, set: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(set, "spec"));
        workload::not_negative(errors, &path, spec, &["replicas", "minReadySeconds"]);
        if workload::selector(errors, &path, spec, "deployment") {
            workload::selector_fits(errors, &path, spec);
            workload::template(errors, &path.child("template"), at(spec, "template"));
            workload::lasting(errors, &path.child("template"), at(spec, "template"), "ReplicaSet");
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        workload::immutable(errors, &Path::root("spec"), at(new, "spec"), at(old, "spec"), &["selector"]);
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        status(errors, at(new, "status"));
    }

    fn warnings(&self, set: &Value) -> Vec<String> {
        workload::template_warnings(set)
    }

    fn selectable(&self) -> &'static [Selectable] {
        COUNTED
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl Strategy for ReplicationControllers {
    fn default(&self, controller: &mut Value) {
        replicas(controller);
        // The selector and the labels follow the template where the user left them out.
        let labels = map(at(at(at(controller, "spec"), "template"), "metadata"), "labels").clone();
        if labels.is_empty() {
            return;
        }
        if map(at(controller, "metadata"), "labels").is_empty()
            && let Some(metadata) = open(controller, "metadata")
        {
            put(metadata, "labels", labels.clone());
        }
        if let Some(spec) = open(controller, "spec")
            && map(spec, "selector").is_empty()
        {
            put(spec, "selector", labels);
        }
    }

    fn prepare_create(&self, controller: &mut Value) {
        fill(controller, "status", json!({"replicas": 0}));
    }

    fn validate(&self, controller: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(controller, "spec"));
        workload::not_negative(errors, &path, spec, &["minReadySeconds"]);
        if map(spec, "selector").is_empty() {
            errors.required(&path.child("selector"), "");
        }
        workload::not_negative(errors, &path, spec, &["replicas"]);
        let at_template = path.child("template");
        if !has(spec, "template") {
            return errors.required(&at_template, "");
        }
        let template = at(spec, "template");
        let labels = at(at(template, "metadata"), "labels");
        if !map(spec, "selector").iter().all(|(key, value)| labels.get(key) == Some(value)) {
            let detail = "`selector` does not match template `labels`";
            errors.invalid(&at_template.child("metadata").child("labels"), labels, detail);
        }
        workload::template(errors, &at_template, template);
        workload::lasting(errors, &at_template, template, "ReplicationController");
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        status(errors, at(new, "status"));
    }

    fn warnings(&self, controller: &Value) -> Vec<String> {
        workload::template_warnings(controller)
    }

    fn selectable(&self) -> &'static [Selectable] {
        COUNTED
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn replicas(object: &mut Value) {
    fill(object, "status", json!({"replicas": 0}));
    if let Some(spec) = open(object, "spec") {
        fill(spec, "replicas", 1);
        if at(spec, "template").is_object() {
            defaults::template(spec);
        }
    }
}

fn status(errors: &mut Errors, status: &Value) {
    const WITHIN: &[&str] = &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    let counts =
        &["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"];
    workload::not_negative(errors, &Path::root("status"), status, counts);
    workload::at_most_replicas(errors, status, WITHIN, "readyReplicas");
}
