//! LimitRanges: what containers, pods and claims of a namespace may ask for.

use serde_json::{Map, Value};

use super::fields::{each, fill, map, open, put, text};
use crate::strategy::Strategy;

pub(super) struct LimitRanges;

impl Strategy for LimitRanges {
    fn default(&self, range: &mut Value) {
        let Some(spec) = open(range, "spec") else { return };
        fill(spec, "limits", Value::Null);
        for item in each(spec, "limits") {
            if text(item, "type") == "Container" {
                container(item);
            }
        }
    }

    fn create_on_update(&self) -> bool {
        true
    }
}

/// A missing default follows the maximum, a missing request the default, then the minimum.
fn container(item: &mut Value) {
    for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
        let mut merged: Map<String, Value> = map(item, from).clone();
        merged.extend(map(item, to).clone());
        if !merged.is_empty() {
            put(item, to, merged);
        }
    }
}
