//! LimitRanges: what containers, pods and claims of a namespace may ask for.

use std::collections::BTreeSet;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::amounts::{self, amount, shown};
use super::fields::{at, each, fill, list, map, open, put, text};
use super::names;
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

    fn validate(&self, range: &Value, errors: &mut Errors) {
        let path = Path::root("spec");
        let path = path.child("limits");
        let items = list(at(range, "spec"), "limits");
        for (i, item) in items.iter().enumerate() {
            let path = path.index(i);
            let kind = text(item, "type");
            names::qualified(errors, &path.child("type"), kind);
            if !kind.contains('/') && !KINDS.contains(&kind) {
                let detail = "must be a standard limit type or fully qualified";
                names::wrong(errors, &path.child("type"), kind, detail);
            }
            if items.iter().take(i).any(|other| text(other, "type") == kind) {
                errors.duplicate(&path.child("type"), &kind.into());
            }
            ordered(errors, &path, item, kind);
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

const KINDS: &[&str] = &["Container", "PersistentVolumeClaim", "Pod"];

/// min ≤ defaultRequest ≤ default ≤ max, for each resource that any of them names.
fn ordered(errors: &mut Errors, path: &Path<'_>, item: &Value, kind: &str) {
    let mut resources: BTreeSet<&str> = BTreeSet::new();
    for field in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        for name in map(item, field).keys() {
            amounts::resource_name(errors, &path.child(field).key(name), name);
            resources.insert(name);
        }
        if kind == "Pod" && field.starts_with("default") && !map(item, field).is_empty() {
            errors.forbidden(&path.child(field), "may not be specified when `type` is 'Pod'");
        }
    }
    if kind == "PersistentVolumeClaim"
        && !map(item, "min").contains_key("storage")
        && !map(item, "max").contains_key("storage")
    {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.required(&path.child("limits"), detail);
    }
    for name in resources {
        let of = |field: &str| map(item, field).get(name);
        // The pair, the field that is blamed, whose value is shown, and the words.
        let pairs = [
            ("min", "max", "min", "min", "min value", "max value"),
            (
                "min",
                "defaultRequest",
                "defaultRequest",
                "defaultRequest",
                "min value",
                "default request value",
            ),
            (
                "defaultRequest",
                "max",
                "defaultRequest",
                "defaultRequest",
                "default request value",
                "max value",
            ),
            (
                "defaultRequest",
                "default",
                "defaultRequest",
                "defaultRequest",
                "default request value",
                "default limit value",
            ),
            ("min", "default", "default", "min", "min value", "default value"),
            ("default", "max", "default", "max", "default value", "max value"),
        ];
        for (low, high, blamed, quoted, low_words, high_words) in pairs {
            let (Some(least), Some(most)) = (of(low), of(high)) else { continue };
            if amount(least) > amount(most) {
                let detail =
                    format!("{low_words} {} is greater than {high_words} {}", amount(least), amount(most));
                let value = shown(of(quoted).unwrap_or(least));
                errors.invalid(&path.child(blamed).key(name), &value, &detail);
            }
        }
        if let Some(ratio) = of("maxLimitRequestRatio")
            && amount(ratio).milli_value() < 1000
        {
            let detail = format!("ratio {} is less than 1", amount(ratio));
            errors.invalid(&path.child("maxLimitRequestRatio").key(name), &shown(ratio), &detail);
        }
    }
}
