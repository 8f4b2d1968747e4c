//! The verbs: one handler each for every kind, of four steps: allow (done by the router), decode, do, answer.

mod delete;
mod list;
mod patch;
mod watch;

use std::sync::Arc;

use bytes::Bytes;
use kedge_kinds::{Details, Reason, Status};
use kedge_registry::measured::is_measured;
use kedge_registry::{At, Catalog, Written};

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::call::{Call, Verb};
use crate::media::{Format, Rendering};
use crate::path::Place;
use crate::table::Table;
use crate::{content, escalate, partial, protobuf, reviews, usage};

pub(crate) use list::made as list_answer;

pub(crate) async fn answer(api: &Arc<Api>, call: Call, body: Bytes) -> Result<Answer, Status> {
    let deprecated = deprecation(&call.at);
    if let Some(said) = call.at.kind.rules.as_ref().and_then(|rules| rules.deprecation()) {
        call.remarks.warn(said);
    }
    // Each but the smallest and most frequent is boxed, else every request would carry room for the largest.
    let mut answer = match call.verb {
        Verb::Get | Verb::List if is_measured(&call.at.kind) => Box::pin(usage::answer(api, &call)).await,
        Verb::Get => get(api, &call).await,
        Verb::List => Box::pin(list::list(api, &call)).await,
        Verb::Watch => Box::pin(watch::watch(api, call)).await,
        Verb::Create if reviews::is_review(&call.at) => Box::pin(reviews::create(api, &call, body)).await,
        Verb::Create => Box::pin(create(api, &call, body)).await,
        Verb::Update => Box::pin(update(api, &call, body)).await,
        Verb::Patch => Box::pin(patch::patch(api, &call, body)).await,
        Verb::Delete => Box::pin(delete::delete(api, &call, body)).await,
        Verb::DeleteCollection => Box::pin(delete::delete_collection(api, &call, body)).await,
        Verb::Options => Err(method_not_allowed()),
    }?;
    if let Some(warning) = deprecated {
        answer::warn(&mut answer, &[warning.to_owned()]);
    }
    Ok(answer)
}

/// Kinds that Kubernetes tells its users to leave.
fn deprecation(at: &At) -> Option<&'static str> {
    match (&*at.kind.gv.group, &*at.kind.kind) {
        ("", "Endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

async fn get(api: &Api, call: &Call) -> Result<Answer, Status> {
    let found = api.registry().get(&call.at, call.query.get("resourceVersion").unwrap_or("")).await?;
    object(api, call, 200, found.served.bytes())
}

async fn create(api: &Arc<Api>, call: &Call, body: Bytes) -> Result<Answer, Status> {
    let mut options = call.write_options("CreateOptions")?;
    options.judge = escalate::judge(api, call);
    let object = content::object(call, &body, &mut options)?;
    let written = api.registry().create(&call.at, object, &options).await?;
    answer_write(api, call, written, true)
}

async fn update(api: &Arc<Api>, call: &Call, body: Bytes) -> Result<Answer, Status> {
    let mut options = call.write_options("UpdateOptions")?;
    options.judge = escalate::judge(api, call);
    let object = content::object(call, &body, &mut options)?;
    let written = api.registry().update(&call.at, object, &options).await?;
    answer_write(api, call, written, false)
}

/// 201 if the request made the object, with the warnings that came up on the way.
fn answer_write(api: &Api, call: &Call, written: Written, creates: bool) -> Result<Answer, Status> {
    let code = if written.created || creates { 201 } else { 200 };
    let mut answer = object(api, call, code, &written.bytes)?;
    answer::warn(&mut answer, &written.warnings);
    Ok(answer)
}

/// One object in the form that was asked for.
pub(crate) fn object(api: &Api, call: &Call, code: u16, bytes: &Bytes) -> Result<Answer, Status> {
    let made = match call.output.rendering {
        Rendering::Whole => return answer::stored(code, bytes, call.output.format, call.pretty),
        // Of another form's fields only those of the metadata are read, so nothing need be cut out first.
        Rendering::Metadata(_) if call.output.format == Format::Protobuf => {
            let form = protobuf::form_of(&call.at.kind, call.output.rendering)?;
            let bytes = protobuf::object(&form, bytes)?;
            return Ok(answer::formed(code, Format::Protobuf, bytes));
        }
        Rendering::Metadata(version) => partial::object(bytes, version).map_err(unreadable)?,
        Rendering::Table(version) => {
            let include = list::include_object(&call.query)?;
            Table::new(&call.at.kind, include, version, api.clock().now()).one(bytes).map_err(unreadable)?
        }
    };
    answer::stored(code, &made, call.output.format, call.pretty)
}

fn unreadable(error: serde_json::Error) -> Status {
    Status::internal(format!("a stored object can't be read: {error}"))
}

pub(crate) fn not_found() -> Status {
    let message = "the server could not find the requested resource";
    Status::new(404, Reason::NotFound, message).with(Details::default())
}

pub(crate) fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, Reason::MethodNotAllowed, message).with(Details::default())
}

/// Within a group that we serve the answer is an object; elsewhere we don't speak the client's language at all.
pub(crate) fn no_such_place(catalog: &Catalog, place: &Place<'_>) -> Result<Answer, Status> {
    no_such_group_or(catalog, &place.group)
}

/// The answer for a place in `group` that there isn't.
pub(crate) fn no_such_group_or(catalog: &Catalog, group: &str) -> Result<Answer, Status> {
    let served = catalog.kinds().iter().any(|kind| *kind.gv.group == *group);
    if served { Err(not_found()) } else { Ok(answer::text(404, "404 page not found\n")) }
}
