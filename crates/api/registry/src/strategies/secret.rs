//! Secrets. `stringData` is written for convenience and never read back: it ends up in `data`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::config_map::{MOST_BYTES, decoded_len, frozen};
use super::fields::{at, fill_text, map, open, put, take, text};
use super::names;
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

    fn validate(&self, secret: &Value, errors: &mut Errors) {
        let path = Path::root("data");
        let mut size = 0;
        for (key, value) in map(secret, "data") {
            names::config_key(errors, &path.key(key), key);
            size += decoded_len(value);
        }
        if size > MOST_BYTES {
            errors.too_long(&path, MOST_BYTES);
        }
        of_type(errors, &path, secret);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if text(new, "type") != text(old, "type") {
            errors.invalid(&Path::root("type"), at(new, "type"), "field is immutable");
        }
        frozen(errors, new, old, &["data"]);
    }

    fn selectable(&self) -> &'static [Selectable] {
        &[Selectable { field: "type", pointer: "/type", absent: "" }]
    }
}

/// What the well-known types must hold.
fn of_type(errors: &mut Errors, path: &Path<'_>, secret: &Value) {
    let data = map(secret, "data");
    let mut needs = |key: &'static str| {
        if !data.contains_key(key) {
            errors.required(&path.key(key), "");
        }
    };
    match text(secret, "type") {
        "kubernetes.io/tls" => {
            needs("tls.crt");
            needs("tls.key");
        }
        "kubernetes.io/basic-auth" if !data.contains_key("username") && !data.contains_key("password") => {
            needs("username");
            needs("password");
        }
        "kubernetes.io/ssh-auth" if text(at(secret, "data"), "ssh-privatekey").is_empty() => {
            errors.required(&path.key("ssh-privatekey"), "");
        }
        "kubernetes.io/dockercfg" => {
            needs(".dockercfg");
            json(errors, path, secret, ".dockercfg");
        }
        "kubernetes.io/dockerconfigjson" => {
            needs(".dockerconfigjson");
            json(errors, path, secret, ".dockerconfigjson");
        }
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if text(at(at(secret, "metadata"), "annotations"), ACCOUNT).is_empty() {
                let path = Path::root("metadata");
                errors.required(&path.child("annotations").key(ACCOUNT), "");
            }
        }
        _ => {}
    }
}

/// The value must be a JSON object. What it says is never repeated.
fn json(errors: &mut Errors, path: &Path<'_>, secret: &Value, key: &str) {
    let Some(encoded) = map(secret, "data").get(key).and_then(Value::as_str) else { return };
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let problem = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let kind = match other {
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
        }
        Err(_) => match std::str::from_utf8(&bytes).ok().and_then(|text| text.trim_start().chars().next()) {
            None => "unexpected end of JSON input".to_owned(),
            Some(first) if first != '{' => {
                format!("invalid character '{first}' looking for beginning of value")
            }
            Some(_) => "unexpected end of JSON input".to_owned(),
        },
    };
    names::wrong(errors, &path.key(key), "<secret contents redacted>", &problem);
}
