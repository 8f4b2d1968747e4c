//! Hands a request on to an extension server, saying for whom, and its answer back as it comes: watches stay watches and
//! upgrades become a pipe. Reads neither.

use bytes::Bytes;
use futures::StreamExt;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, BodyStream, Full};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use kedge_reach::Reach;
use kedge_registry::User;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::Remote;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::body::Body;
use crate::router::Incoming;

/// What can't stand in a header's name.
const UNNAMEABLE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'%')
    .add(b'(')
    .add(b')')
    .add(b',')
    .add(b'/')
    .add(b':')
    .add(b';')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?')
    .add(b'@')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'{')
    .add(b'}');

pub(crate) async fn forward(
    api: &Api,
    remote: &Remote,
    user: &User,
    parts: &Parts,
    body: Incoming,
) -> Answer {
    if !remote.available {
        return answer::text(503, "service unavailable\n");
    }
    let aggregation = api.aggregation();
    let target = aggregation.target(remote, api.clock().now());
    let mut request = Request::new(body.unwrap_or_else(nothing));
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = parts.uri.clone();
    *request.headers_mut() = outward(&parts.headers, user);
    // Only a connection of HTTP/1.1 can be handed over.
    let client = parts.extensions.get::<OnUpgrade>().filter(|_| parts.headers.contains_key(UPGRADE)).cloned();
    if client.is_some() {
        for name in [CONNECTION, UPGRADE] {
            request
                .headers_mut()
                .extend(parts.headers.get_all(&name).iter().map(|v| (Some(name.clone()), v.clone())).take(1));
        }
    }
    exchange(&aggregation.reach, &target, request, client).await
}

async fn exchange(
    reach: &Reach,
    target: &kedge_reach::Target,
    request: Request<kedge_reach::Body>,
    client: Option<OnUpgrade>,
) -> Answer {
    let mut response = match reach.open(target, request).await {
        Ok(response) => response,
        Err(error) => {
            return answer::text(503, format!("error trying to reach service: {}\n", error.cause));
        }
    };
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(client) = client
    {
        let server = hyper::upgrade::on(&mut response);
        tokio::spawn(async move {
            let (Ok(client), Ok(server)) = (client.await, server.await) else { return };
            let (mut client, mut server) = (TokioIo::new(client), TokioIo::new(server));
            // Whichever side ends it, the other hears of it.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        });
        let mut answer = Response::new(Body::default());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        return answer;
    }
    let (head, body) = response.into_parts();
    let pieces = BodyStream::new(body).filter_map(|frame| async move { frame.ok()?.into_data().ok() });
    let mut answer = Response::new(Body::live(pieces));
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    for name in [CONNECTION, TRANSFER_ENCODING, TRAILER] {
        answer.headers_mut().remove(name);
    }
    answer
}

fn nothing() -> kedge_reach::Body {
    Full::<Bytes>::default().map_err(|never| match never {}).boxed_unsync()
}

/// What the extension server is told: what the client said, without its secrets and with who it is.
fn outward(sent: &HeaderMap, user: &User) -> HeaderMap {
    let mut headers = sent.clone();
    let names: Vec<HeaderName> = sent.keys().filter(|name| is_ours(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    for name in [AUTHORIZATION, HOST, CONNECTION, UPGRADE, TE, TRAILER, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    // The length is the body's to say, whose form may change on the way.
    headers.remove(CONTENT_LENGTH);
    let mut add = |name: &str, value: &str| {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    };
    for (name, value) in identity(user) {
        add(&name, &value);
    }
    headers
}

/// How a user is told to an extension server.
pub(super) fn identity(user: &User) -> Vec<(String, String)> {
    let mut told = vec![("x-remote-user".to_owned(), user.name.clone())];
    if !user.uid.is_empty() {
        told.push(("x-remote-uid".to_owned(), user.uid.clone()));
    }
    told.extend(user.groups.iter().map(|group| ("x-remote-group".to_owned(), group.clone())));
    for (key, values) in &user.extra {
        let key = utf8_percent_encode(&key.to_lowercase(), UNNAMEABLE).to_string();
        told.extend(values.iter().map(|value| (format!("x-remote-extra-{key}"), value.clone())));
    }
    told
}

/// Nobody but us says for whom we speak.
fn is_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-remote-")
        || name.starts_with("impersonate-")
        || name.starts_with("proxy-")
        || name == "keep-alive"
}
