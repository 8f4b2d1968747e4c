//! `patch`: four ways to say what to change, told apart by the body's media type.

use std::sync::Arc;

use bytes::Bytes;
use kedge_kinds::{Cause, Reason, Status};
use kedge_registry::Patch;

use super::answer_write;
use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::query::invalid;
use crate::{content, escalate};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

pub(super) async fn patch(api: &Arc<Api>, call: &Call, bytes: Bytes) -> Result<Answer, Status> {
    let mut options = call.write_options("PatchOptions")?;
    let applies = call.content_type == APPLY;
    check_manager_and_force(call, applies)?;
    // Custom kinds have no types that a strategic merge could go by.
    let known: &[&str] =
        if call.at.kind.rules.is_some() { &[JSON, MERGE, APPLY] } else { &[JSON, MERGE, STRATEGIC, APPLY] };
    if !known.contains(&call.content_type.as_str()) {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            known.join(", ")
        );
        return Err(Status::new(415, Reason::UnsupportedMediaType, message));
    }
    let decode = if applies { content::applied } else { content::json_patch };
    let value = decode(&bytes, &mut options)?;
    if call.content_type == JSON {
        // Its keys are those of operations, not of the object.
        options.duplicates.iter_mut().for_each(|said| said.insert_str(0, "json patch "));
    }
    let patch = match call.content_type.as_str() {
        JSON => Patch::Json(value),
        MERGE => Patch::Merge(value),
        STRATEGIC => Patch::Strategic(value),
        _ => Patch::Apply { config: value, force: call.query.flag("force") },
    };
    options.judge = escalate::judge(api, call);
    let written = api.registry().patch(&call.at, patch, &options).await?;
    answer_write(api, call, written, false)
}

fn check_manager_and_force(call: &Call, applies: bool) -> Result<(), Status> {
    let cause = match (applies, call.query.get("fieldManager").unwrap_or(""), call.query.get("force")) {
        (true, "", _) => Cause {
            reason: "FieldValueRequired".to_owned(),
            message: "Required value: is required for apply patch".to_owned(),
            field: "fieldManager".to_owned(),
        },
        (false, _, Some(_)) => Cause {
            reason: "FieldValueForbidden".to_owned(),
            message: "Forbidden: may not be specified for non-apply patch".to_owned(),
            field: "force".to_owned(),
        },
        _ => return Ok(()),
    };
    Err(invalid("PatchOptions", vec![cause]))
}
