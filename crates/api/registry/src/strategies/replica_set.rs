//! ReplicaSets and their elder, ReplicationControllers, whose selector is a plain map.

use serde_json::{Value, json};

use super::fields::{at, fill, map, open, put};
use super::pod::defaults;
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
