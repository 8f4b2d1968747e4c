//! ConfigMaps.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::fields::{at, flag, map, same};
use super::names;
use crate::strategy::Strategy;

pub(super) struct ConfigMaps;

/// All values of a ConfigMap or Secret together.
pub(super) const MOST_BYTES: usize = 1024 * 1024;

impl Strategy for ConfigMaps {
    fn validate(&self, object: &Value, errors: &mut Errors) {
        let (data, binary) = (map(object, "data"), map(object, "binaryData"));
        let mut size = 0;
        for (key, value) in data {
            names::config_key(errors, &Path::root("data").key(key), key);
            if binary.contains_key(key) {
                let detail = "duplicate of key present in binaryData";
                names::wrong(errors, &Path::root("data").key(key), key, detail);
            }
            size += value.as_str().map_or(0, str::len);
        }
        for (key, value) in binary {
            names::config_key(errors, &Path::root("binaryData").key(key), key);
            size += decoded_len(value);
        }
        if size > MOST_BYTES {
            errors.too_long(&Path::root(""), MOST_BYTES);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        frozen(errors, new, old, &["data", "binaryData"]);
    }
}

/// What is marked immutable stays as it is, the mark included.
pub(super) fn frozen(errors: &mut Errors, new: &Value, old: &Value, fields: &[&str]) {
    const DETAIL: &str = "field is immutable when `immutable` is set";
    if !flag(old, "immutable") {
        return;
    }
    if !flag(new, "immutable") {
        errors.forbidden(&Path::root("immutable"), DETAIL);
    }
    for field in fields {
        if !same(at(new, field), at(old, field)) {
            errors.forbidden(&Path::root(field), DETAIL);
        }
    }
}

/// How many bytes a base64 text stands for, without decoding it.
pub(super) fn decoded_len(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}
