//! Deployments: rolling by a quarter unless told otherwise.

use kedge_kinds::field::Errors;
use serde_json::{Map, Value};

use super::fields::{fill, fill_text, open, text};
use super::pod::defaults;
use crate::strategy::Strategy;

pub(super) struct Deployments;

impl Strategy for Deployments {
    fn default(&self, deployment: &mut Value) {
        fill(deployment, "status", Map::new());
        let Some(spec) = open(deployment, "spec") else { return };
        fill(spec, "replicas", 1);
        fill(spec, "revisionHistoryLimit", 10);
        fill(spec, "progressDeadlineSeconds", 600);
        defaults::template(spec);
        let Some(strategy) = open(spec, "strategy") else { return };
        fill_text(strategy, "type", "RollingUpdate");
        if text(strategy, "type") == "RollingUpdate"
            && let Some(rolling) = open(strategy, "rollingUpdate")
        {
            fill(rolling, "maxUnavailable", "25%");
            fill(rolling, "maxSurge", "25%");
        }
    }

    fn prepare_create(&self, deployment: &mut Value) {
        fill(deployment, "status", Map::new());
    }

    fn validate(&self, _deployment: &Value, _errors: &mut Errors) {}

    fn counts_generations(&self) -> bool {
        true
    }
}
