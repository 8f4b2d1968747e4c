//! Answers in protobuf: which message an object is, and its bytes. Knows how objects name themselves and no verbs.

mod lengths;
mod list;
mod shared;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use bytes::Bytes;
use kedge_kinds::encode::{self, EncodeError, Encoder, Form};
use kedge_kinds::{Status, builtin};
use serde::Deserialize;
use serde_json::Value;

use crate::media::Rendering;

pub(crate) use lengths::Which;
pub(crate) use list::{Lists, list};
pub(crate) use shared::frame;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProtobufError {
    #[error("{kind:?} of {api_version:?} has no protobuf")]
    NoMessage { api_version: String, kind: String },
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl From<ProtobufError> for Status {
    fn from(error: ProtobufError) -> Self {
        Status::internal(format!("the answer cannot be written in protobuf: {error}"))
    }
}

/// Memory to encode in, kept for the next object unless it has grown out of proportion.
fn with_encoder<T>(use_it: impl FnOnce(&mut Encoder) -> T) -> T {
    thread_local!(static ENCODER: RefCell<Encoder> = RefCell::default());
    const KEPT: usize = 1024 * 1024;
    ENCODER.with(|encoder| match encoder.try_borrow_mut() {
        Ok(mut encoder) => {
            let made = use_it(&mut encoder);
            if encoder.held() > KEPT {
                *encoder = Encoder::default();
            }
            made
        }
        Err(_) => use_it(&mut Encoder::default()),
    })
}

/// A value that was made for this answer.
pub(crate) fn document(value: &Value) -> Result<Vec<u8>, ProtobufError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let form = form(text("apiVersion"), text("kind"))?;
    Ok(encode::protobuf(&form, value)?)
}

/// An object as it is stored, or in a form in which it could be.
pub(crate) fn stored(json: &Bytes) -> Result<Bytes, ProtobufError> {
    shared::object(json, || {
        let (api_version, kind) = names(json)?;
        form(&api_version, &kind)
    })
}

/// An object in that form, with its envelope.
pub(crate) fn object(form: &Form, json: &[u8]) -> Result<Bytes, ProtobufError> {
    with_encoder(|encoder| Ok(Bytes::copy_from_slice(encoder.object(form, json)?)))
}

/// The message in which the objects of a kind are sent.
pub(crate) fn form_of(
    kind: &kedge_kinds::Kind,
    rendering: Rendering,
) -> Result<Cow<'static, Form>, ProtobufError> {
    match rendering {
        Rendering::Metadata(version) => form(version.api_version(), "PartialObjectMetadata"),
        Rendering::Whole | Rendering::Table(_) => form(&kind.gv.to_string(), &kind.kind),
    }
}

/// By the names that an object bears.
fn form(api_version: &str, kind: &str) -> Result<Cow<'static, Form>, ProtobufError> {
    static KINDS: LazyLock<HashMap<&'static str, Vec<(String, Form)>>> = LazyLock::new(|| {
        let mut found: HashMap<&'static str, Vec<(String, Form)>> = HashMap::new();
        for kind in &builtin().kinds {
            for name in [&*kind.kind, &*kind.list_kind] {
                if let Some(form) = Form::of(&kind.gv.group, &kind.gv.version, name) {
                    found.entry(name).or_default().push((kind.gv.to_string(), form));
                }
            }
        }
        found
    });
    let known =
        KINDS.get(kind).and_then(|versions| versions.iter().find(|(version, _)| version == api_version));
    if let Some((_, form)) = known {
        return Ok(Cow::Borrowed(form));
    }
    // What is of no group stands among the API's own machinery, under one version for all that it is served in.
    let general = || Some(Form::of("meta.k8s.io", "v1", kind)?.under(api_version, kind));
    let found = Form::by_names(api_version, kind).or_else(general);
    found.map(Cow::Owned).ok_or_else(|| ProtobufError::NoMessage {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
    })
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Names<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// What an object says that it is: `apiVersion` and `kind`. Stored objects say it first.
fn names(json: &[u8]) -> Result<(Cow<'_, str>, Cow<'_, str>), ProtobufError> {
    let first = || {
        let (kind, rest) =
            std::str::from_utf8(json.strip_prefix(br#"{"kind":""#)?.get(..256)?).ok()?.split_once('"')?;
        let (version, _) = rest.strip_prefix(r#","apiVersion":""#)?.split_once('"')?;
        Some((Cow::Borrowed(version), Cow::Borrowed(kind)))
    };
    if let Some(names) = first() {
        return Ok(names);
    }
    let names: Names<'_> = serde_json::from_slice(json).map_err(|error| EncodeError::Json(error.column()))?;
    Ok((names.api_version, names.kind))
}

#[cfg(test)]
mod tests;
