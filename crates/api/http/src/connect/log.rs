//! What a container wrote: asks its node and passes it on as it comes. Knows which questions are in order.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use kedge_kinds::{Cause, Details, Reason, Status};

use super::{container, nodes, object, unexplained};
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::call::Call;
use crate::proxy::{self, Asking};
use crate::query::Query;

/// More of a node's complaint is not read.
const LONGEST_COMPLAINT: usize = 50_000;

pub(super) async fn answer(api: &Api, call: &Call, asking: Asking<'_>) -> Result<Answer, Status> {
    let name = call.at.name.as_deref().unwrap_or_default();
    let asked = Asked::read(&call.query)?;
    let wrong = asked.wrong();
    if !wrong.is_empty() {
        return Err(invalid(name, wrong));
    }
    let pod = object(api, call, name).await?;
    let container = container::chosen(&pod, call.query.get("container").unwrap_or_default())?;
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        // A pod that was never started has written nothing.
        return Ok(answer::of(200, "text/plain", Bytes::new()));
    }
    let node = nodes::found(api, node)?;
    let connections = api.connections();
    let target = connections.nodes.target(&node, asked.insecure, api.clock().now())?;
    let namespace = call.at.namespace.as_deref().unwrap_or_default();
    let place = format!("/containerLogs/{namespace}/{name}/{container}{}", asked.text());
    let upgrades = asking.upgrades();
    let mut request = if upgrades { asking.outward(None) } else { Request::new(proxy::nothing()) };
    *request.uri_mut() = place.parse::<Uri>().map_err(|error| unexplained(error.to_string()))?;
    let back = asking.back(api.stopping());
    let answered = proxy::exchange(&connections.reach, &target, request, back).await;
    let mut answer = answered.map_err(|error| unexplained(error.to_string()))?;
    // The node speaks WebSocket itself; a client that asked for it gets its connection.
    if upgrades && answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(answer);
    }
    if !matches!(answer.status().as_u16(), 200..=206) {
        return Err(complaint(name, answer).await);
    }
    let headers = answer.headers_mut();
    headers.clear();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(answer)
}

/// What is to be read of a log.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    follow: bool,
    previous: bool,
    timestamps: bool,
    insecure: bool,
    since_seconds: Option<i64>,
    since: Option<Timestamp>,
    tail: Option<i64>,
    limit: Option<i64>,
    stream: bool,
}

impl Asked {
    pub(super) fn read(query: &Query) -> Result<Self, Status> {
        let since = query.get("sinceTime").filter(|text| !text.is_empty());
        let since = since.map(|text| {
            text.parse::<Timestamp>()
                .map_err(|error| Status::bad_request(format!("parsing time {text:?}: {error}")))
        });
        Ok(Self {
            follow: query.flag("follow"),
            previous: query.flag("previous"),
            timestamps: query.flag("timestamps"),
            insecure: query.flag("insecureSkipTLSVerifyBackend"),
            since_seconds: query.number("sinceSeconds")?,
            since: since.transpose()?,
            tail: query.number("tailLines")?,
            limit: query.number("limitBytes")?,
            stream: query.get("stream").is_some(),
        })
    }

    /// What is not in order.
    pub(super) fn wrong(&self) -> Vec<Cause> {
        let cause = |reason: &str, field: &str, message: String| Cause {
            reason: reason.to_owned(),
            message,
            field: field.to_owned(),
        };
        let too_small = |field: &str, value: i64, least: &str| {
            cause("FieldValueInvalid", field, format!("Invalid value: {value}: must be {least}"))
        };
        let forbidden =
            |field: &str, why: &str| cause("FieldValueForbidden", field, format!("Forbidden: {why}"));
        let mut wrong = Vec::new();
        if let Some(tail) = self.tail.filter(|tail| *tail < 0) {
            wrong.push(too_small("tailLines", tail, "greater than or equal to 0"));
        }
        if let Some(limit) = self.limit.filter(|limit| *limit < 1) {
            wrong.push(too_small("limitBytes", limit, "greater than 0"));
        }
        match self.since_seconds {
            Some(_) if self.since.is_some() => {
                wrong.push(forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
            }
            Some(seconds) if seconds < 1 => {
                wrong.push(too_small("sinceSeconds", seconds, "greater than 0"));
            }
            _ => {}
        }
        if self.stream {
            wrong.push(forbidden("stream", "may not be specified"));
        }
        wrong
    }

    /// As a node is asked.
    pub(super) fn text(&self) -> String {
        let flags = [("follow", self.follow), ("previous", self.previous), ("timestamps", self.timestamps)];
        let flags = flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| format!("{name}=true"));
        let numbers =
            [("sinceSeconds", self.since_seconds), ("tailLines", self.tail), ("limitBytes", self.limit)];
        let numbers = numbers.into_iter().filter_map(|(name, number)| Some(format!("{name}={}", number?)));
        let since = self.since.map(|since| since.strftime("sinceTime=%Y-%m-%dT%H:%M:%SZ").to_string());
        let all: Vec<String> = flags.chain(numbers).chain(since).collect();
        if all.is_empty() { String::new() } else { format!("?{}", all.join("&")) }
    }
}

fn invalid(name: &str, causes: Vec<Cause>) -> Status {
    let listed: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let list = if listed.len() == 1 { listed.concat() } else { format!("[{}]", listed.join(", ")) };
    let message = format!("PodLogOptions {name:?} is invalid: {list}");
    let details =
        Details { name: name.to_owned(), kind: "PodLogOptions".to_owned(), causes, ..Details::default() };
    Status::new(422, Reason::Invalid, message).with(details)
}

/// What a node that gave no log said instead, in the words that clients know.
async fn complaint(name: &str, answer: Answer) -> Status {
    let code = answer.status().as_u16();
    let said = Limited::new(answer.into_body(), LONGEST_COMPLAINT).collect().await;
    let said = said.map(|said| said.to_bytes()).unwrap_or_default();
    told(name, code, &String::from_utf8_lossy(&said))
}

pub(super) fn told(name: &str, code: u16, said: &str) -> Status {
    let (reason, message) = match code {
        500 => return Status::internal(said),
        400 => return Status::bad_request(said),
        404 => (Reason::NotFound, "the server could not find the requested resource".to_owned()),
        401 => {
            (Reason::Unauthorized, "the server has asked for the client to provide credentials".to_owned())
        }
        403 => (Reason::Forbidden, said.to_owned()),
        429 => (
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later".to_owned(),
        ),
        503 => {
            (Reason::ServiceUnavailable, "the server is currently unable to handle the request".to_owned())
        }
        501.. => (
            Reason::InternalError,
            format!("an error on the server ({said:?}) has prevented the request from succeeding"),
        ),
        _ => (
            Reason::Unknown,
            format!("the server responded with the status code {code} but did not return more information"),
        ),
    };
    let details = Details { name: name.to_owned(), kind: "pods/log".to_owned(), ..Details::default() };
    // Upstream names the verb in front of the resource, and has none here.
    Status::new(code, reason, format!("{message} ( pods/log {name})")).with(details)
}
