//! Content negotiation: what the client can read and in which rendering. Knows the names of media types and no objects.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use kedge_kinds::{Details, Reason, Status};

use crate::partial::MetaVersion;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    #[default]
    Json,
    Yaml,
    Protobuf,
}

impl Format {
    pub(crate) fn content_type(self) -> HeaderValue {
        // Made once: whatever makes a header's value goes through it character by character.
        static JSON: HeaderValue = HeaderValue::from_static("application/json");
        static YAML: HeaderValue = HeaderValue::from_static("application/yaml");
        static PROTOBUF: HeaderValue = HeaderValue::from_static("application/vnd.kubernetes.protobuf");
        match self {
            Format::Json => JSON.clone(),
            Format::Yaml => YAML.clone(),
            Format::Protobuf => PROTOBUF.clone(),
        }
    }
}

/// As Kubernetes' own clients ask for protobuf.
const PROTOBUF_FIRST: &[u8] = b"application/vnd.kubernetes.protobuf,application/json";
const PROTOBUF_ONLY: &[u8] = b"application/vnd.kubernetes.protobuf";

/// What can be had at a place, beside JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Whole objects in protobuf, which custom kinds don't have; what is asked for their metadata only has it always.
    pub(crate) protobuf: bool,
    /// Tables and metadata, which what is answered and never stored has not.
    pub(crate) renderings: bool,
    /// Events one after the other, for which YAML has no form.
    pub(crate) stream: bool,
    /// There could be a stream here, if it were asked for.
    pub(crate) watched: bool,
}

impl Offer {
    pub(crate) const ANY: Offer = Offer { protobuf: true, renderings: true, stream: false, watched: false };
}

/// In which form an object or a list is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rendering {
    #[default]
    Whole,
    Table(MetaVersion),
    Metadata(MetaVersion),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) rendering: Rendering,
}

/// One entry of an `Accept` header.
struct Clause<'h> {
    kind: &'h str,
    subtype: &'h str,
    quality: f32,
    params: Vec<(&'h str, &'h str)>,
}

fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut found: Vec<Clause<'_>> = header.split(',').filter_map(clause).collect();
    // Stable, so that equals stay in the client's order.
    found.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    found
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let mut clause = Clause { kind, subtype, quality: 1.0, params: Vec::new() };
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name.trim() {
            "q" => clause.quality = value.trim().parse().ok().filter(|q: &f32| q.is_finite()).unwrap_or(1.0),
            name => clause.params.push((name, value.trim().trim_matches('"'))),
        }
    }
    Some(clause)
}

impl Clause<'_> {
    fn format(&self) -> Option<Format> {
        match (self.kind, self.subtype) {
            ("*", "*") | ("application", "json") => Some(Format::Json),
            ("application", "yaml") => Some(Format::Yaml),
            ("application", "vnd.kubernetes.protobuf") => Some(Format::Protobuf),
            _ => None,
        }
    }

    /// `None` if it cannot be had there.
    fn output(&self, offer: Offer) -> Option<Output> {
        let (format, rendering) = (self.format()?, self.rendering()?);
        let can = match (format, rendering) {
            (Format::Json, _) | (Format::Protobuf, Rendering::Metadata(_)) => true,
            (Format::Yaml, _) => !offer.stream,
            (Format::Protobuf, Rendering::Whole) => offer.protobuf,
            (Format::Protobuf, Rendering::Table(_)) => false,
        };
        let stream = self.param("stream").is_none_or(|stream| matches!(stream, "" | "watch"));
        let can = can && (offer.renderings || rendering == Rendering::Whole);
        (can && stream).then_some(Output { format, rendering })
    }

    fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }

    fn rendering(&self) -> Option<Rendering> {
        let Some(wanted) = self.param("as") else { return Some(Rendering::Whole) };
        let version = match (self.param("g"), self.param("v")) {
            (Some("meta.k8s.io"), Some("v1")) => MetaVersion::V1,
            (Some("meta.k8s.io"), Some("v1beta1")) => MetaVersion::V1Beta1,
            _ => return None,
        };
        match wanted {
            "Table" => Some(Rendering::Table(version)),
            "PartialObjectMetadata" | "PartialObjectMetadataList" => Some(Rendering::Metadata(version)),
            _ => None,
        }
    }
}

/// The best thing that the client accepts and we can make.
pub(crate) fn negotiate(headers: &HeaderMap, offer: Offer) -> Result<Output, Status> {
    let mut asked = false;
    let mut known = false;
    for header in headers.get_all(ACCEPT) {
        match header.as_bytes() {
            b"application/json" | b"*/*" => return Ok(Output::default()),
            PROTOBUF_FIRST | PROTOBUF_ONLY if offer.protobuf => {
                return Ok(Output { format: Format::Protobuf, rendering: Rendering::Whole });
            }
            _ => {}
        }
        let Ok(text) = header.to_str() else { continue };
        asked |= !text.trim().is_empty();
        for clause in clauses(text) {
            known |= clause.format().is_some();
            if let Some(output) = clause.output(offer) {
                return Ok(output);
            }
        }
    }
    if !asked {
        return Ok(Output::default());
    }
    if !known {
        return Err(unknown_form(offer.watched));
    }
    // What would do for one answer and not for a stream is refused as such.
    let only_whole = offer.stream && negotiate(headers, Offer { stream: false, ..offer }).is_ok();
    Err(if only_whole { not_acceptable_stream() } else { not_acceptable() })
}

/// The form of a failure: it is never a table nor metadata, so only what asks for neither counts.
pub(crate) fn failure_format(headers: &HeaderMap) -> Format {
    let texts = headers.get_all(ACCEPT).iter().filter_map(|header| header.to_str().ok());
    let whole = texts.flat_map(clauses).filter(|clause| clause.param("as").is_none());
    whole.filter_map(|clause| clause.format()).next().unwrap_or_default()
}

/// A form that we know, in a rendering that we don't; or one that this kind doesn't have.
pub(crate) fn not_acceptable() -> Status {
    let message = "only the following media types are accepted: \
                   application/json, application/yaml, application/vnd.kubernetes.protobuf";
    Status::new(406, Reason::NotAcceptable, message)
}

fn not_acceptable_stream() -> Status {
    let message = "only the following media types are accepted: \
                   application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    Status::new(406, Reason::NotAcceptable, message)
}

fn unknown_form(watched: bool) -> Status {
    let mut message =
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                       application/vnd.kubernetes.protobuf"
            .to_owned();
    if watched {
        message.push_str(", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
    }
    Status::new(406, Reason::NotAcceptable, message).with(Details::default())
}

/// The first `Accept` header as it came, for documents with forms of their own.
pub(crate) fn accept_text(headers: &HeaderMap) -> &str {
    headers.get(ACCEPT).and_then(|header| header.to_str().ok()).unwrap_or("")
}

/// A body's media type without parameters, in lower case. Empty if the client named none.
pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|header| header.to_str().ok()).unwrap_or("");
    text.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
