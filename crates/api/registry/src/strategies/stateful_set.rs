//! StatefulSets, and the ControllerRevisions that they and daemon sets keep.

use serde_json::{Map, Value, json};

use super::fields::{each, fill, fill_text, open, text};
use super::pod::defaults;
use crate::strategy::Strategy;

pub(super) struct StatefulSets;
pub(super) struct Revisions;

impl Strategy for StatefulSets {
    fn default(&self, set: &mut Value) {
        fill(set, "status", empty_status());
        let Some(spec) = open(set, "spec") else { return };
        fill_text(spec, "podManagementPolicy", "OrderedReady");
        fill(spec, "serviceName", "");
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        defaults::template(spec);
        if let Some(update) = open(spec, "updateStrategy") {
            if text(update, "type").is_empty() {
                fill_text(update, "type", "RollingUpdate");
                open(update, "rollingUpdate");
            }
            if text(update, "type") == "RollingUpdate"
                && let Some(rolling) = update.get_mut("rollingUpdate")
            {
                fill(rolling, "partition", 0);
            }
        }
        if let Some(policy) = open(spec, "persistentVolumeClaimRetentionPolicy") {
            fill_text(policy, "whenDeleted", "Retain");
            fill_text(policy, "whenScaled", "Retain");
        }
        each(spec, "volumeClaimTemplates").for_each(claim_template);
    }

    fn prepare_create(&self, set: &mut Value) {
        fill(set, "status", empty_status());
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn empty_status() -> Value {
    json!({"replicas": 0, "availableReplicas": 0})
}

/// The templates are whole claims and read back as such.
fn claim_template(claim: &mut Value) {
    fill_text(claim, "apiVersion", "v1");
    fill_text(claim, "kind", "PersistentVolumeClaim");
    fill(claim, "metadata", Map::new());
    if let Some(spec) = open(claim, "spec") {
        defaults::claim_spec(spec);
    }
    if let Some(status) = open(claim, "status") {
        fill_text(status, "phase", "Pending");
    }
}

impl Strategy for Revisions {}
