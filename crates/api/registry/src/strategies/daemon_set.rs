//! DaemonSets: one pod a node, replaced one by one.

use serde_json::{Value, json};

use super::fields::{at, carry, fill, fill_text, open, same, text};
use super::pod::defaults;
use crate::strategy::Strategy;

pub(super) struct DaemonSets;

/// Counts the versions of the template; old clients still read it.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

impl Strategy for DaemonSets {
    fn default(&self, set: &mut Value) {
        fill(set, "status", empty_status());
        let Some(spec) = open(set, "spec") else { return };
        fill(spec, "revisionHistoryLimit", 10);
        defaults::template(spec);
        let Some(update) = open(spec, "updateStrategy") else { return };
        fill_text(update, "type", "RollingUpdate");
        if text(update, "type") == "RollingUpdate"
            && let Some(rolling) = open(update, "rollingUpdate")
        {
            fill(rolling, "maxUnavailable", 1);
            fill(rolling, "maxSurge", 0);
        }
    }

    fn prepare_create(&self, set: &mut Value) {
        fill(set, "status", empty_status());
        set_generation(set, 1);
    }

    fn prepare_update(&self, new: &mut Value, old: &Value) {
        let generation = generation(old);
        let changed = !same(at(at(new, "spec"), "template"), at(at(old, "spec"), "template"));
        set_generation(new, if changed { generation + 1 } else { generation });
    }

    fn prepare_status(&self, new: &mut Value, old: &Value) {
        carry(new, old, "spec");
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn empty_status() -> Value {
    json!({"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0})
}

fn generation(set: &Value) -> i64 {
    text(at(at(set, "metadata"), "annotations"), TEMPLATE_GENERATION).parse().unwrap_or(0)
}

fn set_generation(set: &mut Value, generation: i64) {
    let annotations = open(set, "metadata").and_then(|metadata| open(metadata, "annotations"));
    if let Some(annotations) = annotations {
        super::fields::put(annotations, TEMPLATE_GENERATION, generation.to_string());
    }
}
