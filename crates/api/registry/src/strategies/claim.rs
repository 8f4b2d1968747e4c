//! PersistentVolumeClaims.

use serde_json::{Value, json};

use super::fields::{at, fill_text, has, open, put, take, text};
use super::pod::defaults::claim_spec;
use crate::strategy::Strategy;

pub(super) struct Claims;

impl Strategy for Claims {
    fn default(&self, claim: &mut Value) {
        if let Some(spec) = open(claim, "spec") {
            claim_spec(spec);
        }
        if let Some(status) = open(claim, "status") {
            fill_text(status, "phase", "Pending");
        }
    }

    fn prepare_create(&self, claim: &mut Value) {
        put(claim, "status", json!({"phase": "Pending"}));
        if let Some(spec) = open(claim, "spec") {
            data_sources(spec);
        }
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value) {
        if let Some(spec) = open(new, "spec") {
            data_sources(spec);
        }
    }
}

/// The old field only ever meant claims and snapshots; what it means is shown in both fields.
fn data_sources(spec: &mut Value) {
    if has(spec, "dataSource") && !has(spec, "dataSourceRef") {
        let source = at(spec, "dataSource").clone();
        let known = matches!(
            (text(&source, "apiGroup"), text(&source, "kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        );
        if known {
            put(spec, "dataSourceRef", source);
        } else {
            take(spec, "dataSource");
        }
    } else if has(spec, "dataSourceRef") && !has(spec, "dataSource") {
        let source = at(spec, "dataSourceRef").clone();
        if !has(&source, "namespace") {
            put(spec, "dataSource", source);
        }
    }
}
