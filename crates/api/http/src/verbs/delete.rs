//! `delete` and `deletecollection`: what to do with dependents and when, from the query or from a body, the body first.

use bytes::Bytes;
use kedge_kinds::{Cause, Status};
use kedge_registry::{DeleteOptions, Propagation, WriteOptions};
use serde_json::Value;

use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::content;
use crate::query::{dry_run_not_supported, invalid, not_supported};

pub(super) async fn delete(api: &Api, call: &Call, body: Bytes) -> Result<Answer, Status> {
    let mut options = call.write_options("DeleteOptions")?;
    let (delete, orphan) = wanted(call, &body, &mut options)?;
    let deleted = api.registry().delete(&call.at, &delete, &options).await?;
    // Other deletions that take a while answer 200: clients have come to rely on it.
    let code = if deleted.still_there && orphan == Some(false) { 202 } else { 200 };
    super::object(api, call, code, &deleted.bytes)
}

pub(super) async fn delete_collection(api: &Api, call: &Call, body: Bytes) -> Result<Answer, Status> {
    let mut options = call.write_options("DeleteOptions")?;
    let (delete, _) = wanted(call, &body, &mut options)?;
    let list = api.registry().delete_collection(&call.at, &call.query.list()?, &delete, &options).await?;
    super::list::answer(api, call, list, None).await
}

/// What the client wants, and what it said in the old way about dependents.
fn wanted(
    call: &Call,
    bytes: &Bytes,
    options: &mut WriteOptions,
) -> Result<(DeleteOptions, Option<bool>), Status> {
    if bytes.is_empty() {
        return from_query(call);
    }
    let object = content::delete_options(call, bytes, options)?;
    let number = |value: Option<&Value>| value.and_then(Value::as_i64);
    let text = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let dry = object.get("dryRun").and_then(Value::as_array).into_iter().flatten();
    let dry: Vec<&str> = dry.filter_map(Value::as_str).collect();
    if dry.iter().any(|value| *value != "All") {
        return Err(invalid("DeleteOptions", vec![dry_run_not_supported(&dry)]));
    }
    options.dry_run |= !dry.is_empty();
    let preconditions = object.get("preconditions");
    let precondition = |field: &str| text(preconditions.and_then(|one| one.get(field)));
    let orphan = object.get("orphanDependents").and_then(Value::as_bool);
    let delete = DeleteOptions {
        collection: false,
        grace_seconds: number(object.get("gracePeriodSeconds")),
        propagation: propagation(text(object.get("propagationPolicy")).as_deref(), orphan)?,
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
    };
    Ok((delete, orphan))
}

fn from_query(call: &Call) -> Result<(DeleteOptions, Option<bool>), Status> {
    let orphan = call.query.get("orphanDependents").map(|_| call.query.flag("orphanDependents"));
    let policy = call.query.get("propagationPolicy").filter(|policy| !policy.is_empty());
    let delete = DeleteOptions {
        collection: false,
        grace_seconds: call.query.number("gracePeriodSeconds")?,
        propagation: propagation(policy, orphan)?,
        uid: None,
        resource_version: None,
    };
    Ok((delete, orphan))
}

fn propagation(policy: Option<&str>, orphan: Option<bool>) -> Result<Option<Propagation>, Status> {
    let chosen = match policy {
        None => None,
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            let supported = "\"Foreground\", \"Background\", \"Orphan\", \"nil\"";
            return Err(invalid("DeleteOptions", vec![not_supported("propagationPolicy", other, supported)]));
        }
    };
    match (chosen, orphan) {
        (Some(_), Some(_)) => Err(invalid(
            "DeleteOptions",
            vec![Cause {
                reason: "FieldValueInvalid".to_owned(),
                message: format!(
                    "Invalid value: {:?}: orphanDependents and deletionPropagation cannot be both set",
                    policy.unwrap_or_default()
                ),
                field: "propagationPolicy".to_owned(),
            }],
        )),
        (None, Some(true)) => Ok(Some(Propagation::Orphan)),
        (None, Some(false)) => Ok(Some(Propagation::Background)),
        (chosen, None) => Ok(chosen),
    }
}
