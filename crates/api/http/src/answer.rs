//! Answers on the wire: status lines, headers, and the forms of an object. Knows no verbs.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Response, StatusCode};
use kedge_kinds::Status;
use serde_json::Value;

use crate::body::Body;
use crate::media::Format;
use crate::protobuf;

pub(crate) type Answer = Response<Body>;

pub(crate) fn of(code: u16, content_type: &'static str, body: impl Into<Body>) -> Answer {
    typed(code, HeaderValue::from_static(content_type), body)
}

/// An object or a list in that form.
pub(crate) fn formed(code: u16, format: Format, body: impl Into<Body>) -> Answer {
    typed(code, format.content_type(), body)
}

fn typed(code: u16, content_type: HeaderValue, body: impl Into<Body>) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}

pub(crate) fn json(code: u16, bytes: impl Into<Bytes>) -> Answer {
    formed(code, Format::Json, bytes.into())
}

pub(crate) fn text(code: u16, text: impl Into<Body>) -> Answer {
    let mut answer = of(code, "text/plain; charset=utf-8", text);
    answer.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    answer
}

/// A failure, as the `Status` object that every client understands.
pub(crate) fn failure(status: &Status, format: Format) -> Answer {
    let object = status.to_object();
    let mut answer = document(status.code, &object, format, false);
    let wait = status.details.as_ref().and_then(|details| details.retry_after_seconds);
    if let Some(seconds) = wait {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// A value that was made for this answer.
pub(crate) fn document(code: u16, value: &Value, format: Format, pretty: bool) -> Answer {
    let bytes = match format {
        Format::Json if pretty => serde_json::to_vec_pretty(value).map_err(|error| error.to_string()),
        Format::Json => serde_json::to_vec(value).map_err(|error| error.to_string()),
        Format::Yaml => {
            serde_saphyr::to_string(value).map(String::into_bytes).map_err(|error| error.to_string())
        }
        Format::Protobuf => protobuf::document(value).map_err(|error| error.to_string()),
    };
    match bytes {
        Ok(bytes) => formed(code, format, Bytes::from(bytes)),
        // Values that came out of JSON go back into it; this is for form's sake and names the cause.
        Err(error) => text(500, format!("cannot encode the answer: {error}\n")),
    }
}

/// Stored bytes, sent as they are unless the client asked for another form of them.
pub(crate) fn stored(code: u16, bytes: &Bytes, format: Format, pretty: bool) -> Result<Answer, Status> {
    if format == Format::Json && !pretty {
        return Ok(json(code, bytes.clone()));
    }
    if format == Format::Protobuf {
        return Ok(formed(code, format, protobuf::stored(bytes)?));
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| Status::internal(error.to_string()))?;
    Ok(document(code, &value, format, pretty))
}

/// A long answer in another form than the one it is made in: gathered first, where it keeps no other request waiting.
pub(crate) async fn reformed(code: u16, body: Body, format: Format, pretty: bool) -> Result<Answer, Status> {
    let reform = move || stored(code, &body.gathered(), format, pretty);
    tokio::task::spawn_blocking(reform).await.unwrap_or_else(|error| Err(Status::internal(error.to_string())))
}

/// Adds `Warning: 299 - "…"` for each sentence; client libraries print them.
pub(crate) fn warn(answer: &mut Answer, warnings: &[String]) {
    // A proxy or client may refuse a head that is too long, so the tail of a long list is left out.
    let mut room = 4096usize;
    for warning in warnings {
        let quoted: String = warning
            .chars()
            .flat_map(|character| match character {
                '"' => vec!['\\', '"'],
                '\\' => vec!['\\', '\\'],
                character if character.is_control() => vec![' '],
                character => vec![character],
            })
            .collect();
        let Some(left) = room.checked_sub(quoted.len()) else { break };
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            answer.headers_mut().append(WARNING, value);
            room = left;
        }
    }
}
