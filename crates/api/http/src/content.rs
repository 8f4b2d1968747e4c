//! Request bodies: read within limits of size and time, and decoded from whatever the client speaks.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use kedge_kinds::decode::{self, DecodeError, Media};
use kedge_kinds::{Reason, Status};
use kedge_registry::WriteOptions;
use serde_json::Value;

use crate::call::Call;
use crate::router::BoxError;

pub(crate) const LIMIT: usize = 3 * 1024 * 1024;

/// The whole body, if it is not too long and comes in time.
pub(crate) async fn read(body: UnsyncBoxBody<Bytes, BoxError>, patience: Duration) -> Result<Bytes, Status> {
    match tokio::time::timeout(patience, collect(body)).await {
        Ok(read) => read,
        Err(_) => Err(Status::new(408, Reason::Timeout, "the request's body did not arrive in time")),
    }
}

async fn collect(mut body: UnsyncBoxBody<Bytes, BoxError>) -> Result<Bytes, Status> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Status::bad_request(format!("the request's body cannot be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > LIMIT {
            let message = format!("Request entity too large: limit is {LIMIT}");
            return Err(Status::new(413, Reason::RequestEntityTooLarge, message));
        }
        // Most bodies come in one frame, which need not be copied.
        if first.is_empty() && rest.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.reserve(first.len() + data.len());
                rest.extend_from_slice(&first);
                first = Bytes::new();
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// The object in the body of a create or update.
pub(crate) fn object(call: &Call, bytes: &Bytes, options: &mut WriteOptions) -> Result<Value, Status> {
    let media = media(call)?;
    let expected = match (call.at.subresource.as_deref(), &call.at.kind) {
        (Some(sub), kind) => kind.subresource(sub).and_then(|sub| sub.speaks.as_ref()).map(|(_, kind)| kind),
        (None, _) => None,
    };
    decode(media, bytes, expected.unwrap_or(&call.at.kind.kind), options)
}

/// The body of a delete.
pub(crate) fn delete_options(
    call: &Call,
    bytes: &Bytes,
    options: &mut WriteOptions,
) -> Result<Value, Status> {
    decode(media(call)?, bytes, "DeleteOptions", options)
}

fn media(call: &Call) -> Result<Media, Status> {
    Media::of(&call.content_type).ok_or_else(|| {
        let message = "the body of the request was in an unknown format - accepted media types include: \
                       application/json, application/yaml, application/vnd.kubernetes.protobuf";
        Status::new(415, Reason::UnsupportedMediaType, message)
    })
}

/// What was given twice is left to the registry, which knows how strict the client wants it to be.
fn decode(media: Media, bytes: &Bytes, expected: &str, options: &mut WriteOptions) -> Result<Value, Status> {
    match decode::body(bytes, media) {
        Ok(decoded) => {
            options.duplicates = decoded.duplicates;
            options.body = (media == Media::Json).then(|| bytes.clone());
            Ok(decoded.value)
        }
        Err(error) => Err(decode::unrecognized(expected, &error, bytes)),
    }
}

/// A patch in JSON.
pub(crate) fn json_patch(bytes: &Bytes, options: &mut WriteOptions) -> Result<Value, Status> {
    match decode::patch(bytes) {
        Ok(decoded) => {
            options.duplicates = decoded.duplicates;
            Ok(decoded.value)
        }
        Err(DecodeError::Json(why)) => Err(Status::bad_request(format!("error decoding patch: {why}"))),
        Err(error) => Err(Status::bad_request(format!("error decoding patch: {error}"))),
    }
}

/// An applied configuration: YAML, of which JSON is a part.
pub(crate) fn applied(bytes: &Bytes, options: &mut WriteOptions) -> Result<Value, Status> {
    match decode::body(bytes, Media::Yaml) {
        Ok(decoded) => {
            options.duplicates = decoded.duplicates;
            Ok(decoded.value)
        }
        Err(error) => Err(Status::bad_request(format!("error decoding YAML: {error}"))),
    }
}
