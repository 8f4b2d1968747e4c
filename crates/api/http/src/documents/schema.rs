//! `/openapi/v2` and `/openapi/v3/…` on the wire: which form, compressed or not, known already or not.

use std::io;

use http::StatusCode;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION,
    VARY,
};
use http::request::Parts;

use crate::answer::{self, Answer};
use crate::body::Body;
use crate::media;
use crate::openapi::{Document, OpenApi};
use crate::query::Query;

/// Not quite what clients ask for: the `@` of that name is not allowed in a media type, and Go's parser refuses it.
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// What of a request matters here, so that the answer can be made elsewhere.
pub(super) struct Asked {
    path: String,
    hash: Option<String>,
    accept: String,
    gzip: bool,
    known: String,
}

impl Asked {
    pub(super) fn of(parts: &Parts) -> Self {
        let header =
            |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
        Self {
            path: parts.uri.path().trim_end_matches('/').to_owned(),
            hash: Query::parse(parts.uri.query()).get("hash").map(str::to_owned),
            accept: header(ACCEPT),
            gzip: header(ACCEPT_ENCODING).contains("gzip"),
            known: header(IF_NONE_MATCH),
        }
    }

    fn takes_json(&self) -> bool {
        self.accept.is_empty()
            || ["*/*", "application/*", "application/json"].iter().any(|one| self.accept.contains(one))
    }
}

pub(super) fn answer(openapi: &OpenApi, asked: &Asked) -> io::Result<Option<Answer>> {
    let Some(rest) = asked.path.strip_prefix("/openapi/") else { return Ok(None) };
    let segments: Vec<&str> = rest.split('/').collect();
    let document = match segments.as_slice() {
        ["v2"] if asked.accept.contains("proto-openapi.spec.v2") => {
            return send(asked, V2_PROTOBUF, openapi.v2_protobuf()?).map(Some);
        }
        ["v2"] => openapi.v2()?,
        ["v3"] => return Ok(Some(answer::json(200, openapi.index()?))),
        ["v3", "api", version] => match openapi.v3("", version)? {
            Some(document) => document,
            None => return Ok(None),
        },
        ["v3", "apis", group, version] => match openapi.v3(group, version)? {
            Some(document) => document,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    if !asked.takes_json() {
        return Ok(Some(answer::failure(&media::not_acceptable(), media::Format::Json)));
    }
    if let Some(hash) = asked.hash.as_deref().filter(|hash| *hash != document.etag) {
        tracing::debug!(hash, "sending a client on from an old description of the API");
        let mut answer = answer::text(301, "");
        if let Ok(value) = HeaderValue::from_str(&format!("{}?hash={}", asked.path, document.etag)) {
            answer.headers_mut().insert(LOCATION, value);
        }
        return Ok(Some(answer));
    }
    send(asked, "application/json", document).map(Some)
}

fn send(asked: &Asked, content_type: &'static str, document: &Document) -> io::Result<Answer> {
    let etag = format!("\"{}\"", document.etag);
    let mut answer = if asked.known.split(',').any(|known| known.trim() == etag) {
        let mut answer = answer::of(200, content_type, Body::default());
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        answer
    } else if asked.gzip {
        let mut answer = answer::of(200, content_type, document.gzip());
        answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        answer
    } else {
        answer::of(200, content_type, document.plain()?)
    };
    let headers = answer.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding, Accept"));
    if asked.hash.is_some() {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    }
    if let Ok(value) = HeaderValue::from_str(&etag) {
        headers.insert(ETAG, value);
    }
    Ok(answer)
}
