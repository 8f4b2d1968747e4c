//! Secrets. `stringData` is written for convenience and never read back: it ends up in `data`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::fields::{fill_text, open, put, take};
use crate::strategy::{Selectable, Strategy};

pub(super) struct Secrets;

impl Strategy for Secrets {
    fn default(&self, secret: &mut Value) {
        fill_text(secret, "type", "Opaque");
        let Some(Value::Object(plain)) = take(secret, "stringData") else { return };
        if plain.is_empty() {
            return;
        }
        if let Some(data) = open(secret, "data") {
            for (key, value) in plain {
                put(data, &key, STANDARD.encode(value.as_str().unwrap_or_default()));
            }
        }
    }

    fn selectable(&self) -> &'static [Selectable] {
        &[Selectable { field: "type", pointer: "/type", absent: "" }]
    }
}
