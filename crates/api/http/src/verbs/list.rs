//! `list`: the stored bytes, joined by commas and sent as they are made into chunks. Nothing is parsed, nothing is held.

use kedge_kinds::{Kind, Status};
use kedge_registry::List;

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::body::Body;
use crate::call::Call;
use crate::chunks::{Chunks, Rows};
use crate::media::{Format, Rendering};
use crate::partial::{self, ListMeta};
use crate::protobuf::{self, Which};
use crate::query::{Query, invalid, not_supported};
use crate::table::{IncludeObject, Table};

pub(super) async fn list(api: &Api, call: &Call) -> Result<Answer, Status> {
    let query = call.query.list()?;
    let found = api.registry().list(&call.at, &query).await?;
    let all = query.limit.is_none()
        && matches!(query.resource_version.as_str(), "" | "0")
        && [&query.labels, &query.fields, &query.continue_token].iter().all(|text| text.is_empty());
    let which = all.then(|| Which::new(&call.at, call.output.rendering, found.revision));
    answer(api, call, found, which).await
}

/// A list that was made for this answer.
pub(crate) async fn made(api: &Api, call: &Call, made: List) -> Result<Answer, Status> {
    answer(api, call, made, None).await
}

/// `which` if everything there is is listed.
pub(super) async fn answer(
    api: &Api,
    call: &Call,
    found: List,
    which: Option<Which>,
) -> Result<Answer, Status> {
    let meta = ListMeta {
        resource_version: found.revision.to_string(),
        continue_token: found.continue_token,
        remaining_item_count: found.remaining,
    };
    let kind = &call.at.kind;
    if call.output.format == Format::Protobuf {
        let body =
            protobuf::list(kind, call.output.rendering, found.items, &meta, api.lists(), which).await?;
        return Ok(answer::formed(200, Format::Protobuf, body));
    }
    let body = match call.output.rendering {
        Rendering::Whole => body(Chunks::new(found.items, Whole::of(kind), head(kind, &meta))),
        Rendering::Metadata(version) => body(partial::list(found.items, &meta, version)),
        Rendering::Table(version) => {
            let table = Table::new(kind, include_object(&call.query)?, version, api.clock().now());
            body(table.list(found.items, &meta))
        }
    };
    if call.output.format == Format::Json && !call.pretty {
        return Ok(answer::formed(200, Format::Json, body));
    }
    // Other forms are for people who look at short lists; those are made as a whole.
    answer::reformed(200, body, call.output.format, call.pretty).await
}

/// Stored objects are items as they are, save that the list has already said their kind. Those of custom kinds are
/// read without a type and say it themselves.
struct Whole {
    said: Vec<u8>,
}

impl Whole {
    fn of(kind: &Kind) -> Self {
        if kind.rules.is_some() {
            return Self { said: Vec::new() };
        }
        Self { said: format!(r#"{{"kind":"{}","apiVersion":"{}","#, kind.kind, kind.gv).into_bytes() }
    }
}

impl Rows for Whole {
    fn row(&self, object: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        match object.strip_prefix(&*self.said) {
            Some(rest) if !self.said.is_empty() => {
                out.push(b'{');
                out.extend_from_slice(rest);
            }
            _ => out.extend_from_slice(object),
        }
        Ok(())
    }
}

fn head(kind: &Kind, meta: &ListMeta) -> Vec<u8> {
    let mut head =
        format!(r#"{{"kind":"{}","apiVersion":"{}","metadata":"#, kind.list_kind, kind.gv).into_bytes();
    match (kind.rules.is_some(), meta.continue_token.as_str()) {
        // Lists of custom kinds say that nothing follows.
        (true, "") => {
            let revision = &meta.resource_version;
            head.extend_from_slice(format!(r#"{{"continue":"","resourceVersion":"{revision}"}}"#).as_bytes());
        }
        _ => partial::write_meta(meta, &mut head),
    }
    head.extend_from_slice(br#","items":["#);
    head
}

fn body<I, R>(chunks: Chunks<I, R>) -> Body
where
    Chunks<I, R>: Iterator<Item = Result<bytes::Bytes, serde_json::Error>> + Send + 'static,
{
    // The head of the answer has gone out when an item turns out to be unreadable; a list cut off in the middle is no
    // valid JSON, so the client cannot take it for the whole.
    Body::chunks(chunks.map_while(Result::ok))
}

/// `includeObject`: what a table's rows carry beside their cells.
pub(super) fn include_object(query: &Query) -> Result<IncludeObject, Status> {
    match query.get("includeObject").unwrap_or("") {
        "" | "Metadata" => Ok(IncludeObject::Metadata),
        "None" => Ok(IncludeObject::None),
        "Object" => Ok(IncludeObject::Object),
        other => {
            let supported = "\"Metadata\", \"None\", \"Object\"";
            Err(invalid("TableOptions", vec![not_supported("includeObject", other, supported)]))
        }
    }
}
