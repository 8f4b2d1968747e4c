//! One call of one webhook: the review that is sent, and what its answer or its silence means.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http_body_util::Full;
use kedge_kinds::{Cause, Details, Kind, Reason, Status};
use kedge_reach::Reach;
use kedge_registry::gate::Review;
use serde::Serialize;

use super::answer::{self, Verdict};
use super::hook::{Form, Hook};
use crate::request::Request;

/// Why a webhook's word does not count.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It could not be asked, or answered nonsense: its `failurePolicy` decides what that means.
    Unheard(String),
    /// The request fails whatever the policy says.
    Refused(Status),
}

#[derive(Serialize)]
struct Sent<'a> {
    kind: &'static str,
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    request: Request<'a>,
}

/// Asks a webhook. `seen`: the version of the kind in which the review holds its objects, if not the request's own.
pub(crate) async fn ask(
    reach: &Reach,
    hook: &Hook,
    review: &Review<'_>,
    seen: Option<&Kind>,
    mutating: bool,
) -> Result<Verdict, Failure> {
    if review.options.dry_run && !hook.dry_run {
        let message = format!("admission webhook {:?} does not support dry run", hook.name);
        return Err(Failure::Refused(Status::bad_request(message)));
    }
    let form = hook.form.ok_or_else(|| {
        let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        Failure::Unheard(format!("could not create admission objects: {why}"))
    })?;
    let uid = uuid::Uuid::new_v4().to_string();
    let verdict = exchange(reach, hook, review, seen, form, &uid).await.and_then(|bytes| {
        answer::verdict(&bytes, form, &uid, mutating).map_err(|unfit| Failure::Unheard(unfit.to_string()))
    })?;
    for (key, value) in &verdict.annotations {
        review.options.remarks.annotate(format!("{}/{key}", hook.name), value);
    }
    for warning in &verdict.warnings {
        review.options.remarks.warn(warning);
    }
    if verdict.allowed {
        return Ok(verdict);
    }
    Err(Failure::Refused(answer::refusal(&hook.name, verdict.result.as_ref())))
}

async fn exchange(
    reach: &Reach,
    hook: &Hook,
    review: &Review<'_>,
    seen: Option<&Kind>,
    form: Form,
    uid: &str,
) -> Result<Bytes, Failure> {
    let unheard = |why: String| Failure::Unheard(format!("failed to call webhook: {why}"));
    let request = Request::of(review, uid, seen);
    let sent = Sent { kind: "AdmissionReview", api_version: form.api_version(), request };
    let body = serde_json::to_vec(&sent).map_err(|error| unheard(error.to_string()))?;
    let request = http::Request::post(format!("/?timeout={}s", hook.timeout.as_secs()))
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, */*")
        .header(USER_AGENT, "kube-apiserver-admission")
        .body(Full::from(body))
        .map_err(|error| unheard(error.to_string()))?;
    let response = reach.send(&hook.target, request, hook.timeout).await;
    let response = response.map_err(|error| unheard(error.to_string()))?;
    if response.status().is_success() {
        return Ok(response.into_body());
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let code = response.status().as_u16();
    Err(unheard(answer::failed(code, content_type.unwrap_or_default(), response.body())))
}

/// The answer to a request whose webhook could not be heard and had to be.
pub(crate) fn failed_closed(hook: &Hook, why: &str) -> Status {
    internal(format!("failed calling webhook {:?}: {why}", hook.name))
}

pub(crate) fn internal(message: String) -> Status {
    let cause = Cause { reason: String::new(), message: message.clone(), field: String::new() };
    Status::new(500, Reason::InternalError, format!("Internal error occurred: {message}"))
        .with(Details { causes: vec![cause], ..Details::default() })
}
