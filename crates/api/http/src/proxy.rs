//! Hands a request on to another server, and its answer back as it comes: what is streamed stays a stream, and an upgrade becomes a
//! pipe. Reads neither, and leaves it to whoever asked to say what a failure means.

mod pipe;

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, BodyStream, Full};
use hyper::upgrade::OnUpgrade;
use kedge_reach::{Reach, ReachError, Target};
use tokio::sync::watch;

use crate::answer::Answer;
use crate::body::{Body, Broken};
use crate::router::Incoming;

/// The connection that a request came over, as far as it outlives the request.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) from: Option<IpAddr>,
    /// Its part of the room for connections.
    pub(crate) _held: Option<Arc<dyn Any + Send + Sync>>,
}

/// A request that is to be handed on.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'r> {
    pub(crate) parts: &'r Parts,
    pub(crate) caller: Option<&'r Caller>,
}

/// Where an answer goes.
pub(crate) struct Return {
    /// Where the client asked for another protocol and can have one.
    upgrade: Option<OnUpgrade>,
    caller: Option<Caller>,
    stopping: watch::Receiver<bool>,
}

impl Asking<'_> {
    /// The client's connection, if it asked for another protocol. Only one of HTTP/1.1 can be handed over.
    fn upgrade(&self) -> Option<&OnUpgrade> {
        self.parts.extensions.get::<OnUpgrade>().filter(|_| self.parts.headers.contains_key(UPGRADE))
    }

    pub(crate) fn upgrades(&self) -> bool {
        self.upgrade().is_some()
    }

    pub(crate) fn back(&self, stopping: watch::Receiver<bool>) -> Return {
        Return { upgrade: self.upgrade().cloned(), caller: self.caller.cloned(), stopping }
    }

    /// The client's request without what concerns only us.
    pub(crate) fn outward(&self, body: Incoming) -> Request<kedge_reach::Body> {
        let mut request = Request::new(body.unwrap_or_else(nothing));
        *request.method_mut() = self.parts.method.clone();
        *request.uri_mut() = self.parts.uri.clone();
        let mut headers = cleaned(&self.parts.headers);
        if self.upgrades() {
            for name in [CONNECTION, UPGRADE] {
                let first = self.parts.headers.get(&name).cloned();
                headers.extend(first.map(|value| (name, value)));
            }
        }
        *request.headers_mut() = headers;
        request
    }
}

pub(crate) fn nothing() -> kedge_reach::Body {
    Full::<Bytes>::default().map_err(|never| match never {}).boxed_unsync()
}

/// The server's answer, as soon as it begins.
pub(crate) async fn exchange(
    reach: &Reach,
    target: &Target,
    request: Request<kedge_reach::Body>,
    back: Return,
) -> Result<Answer, ReachError> {
    let mut response = reach.open(target, request).await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(client) = back.upgrade
    {
        let server = hyper::upgrade::on(&mut response);
        tokio::spawn(pipe::join(client, server, back.caller, back.stopping));
        let mut answer = Response::new(Body::default());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = std::mem::take(response.headers_mut());
        return Ok(answer);
    }
    let (head, body) = response.into_parts();
    let pieces = BodyStream::new(body).filter_map(|frame| async move {
        match frame {
            Ok(frame) => frame.into_data().ok().map(Ok),
            Err(error) => Some(Err(Broken::of(&error))),
        }
    });
    let mut stopping = back.stopping;
    // A server that ends waits for no answer that has no end.
    let stopped = async move { drop(stopping.wait_for(|stop| *stop).await) };
    let mut answer = Response::new(Body::relayed(pieces.take_until(stopped)));
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    for name in [CONNECTION, TRANSFER_ENCODING, TRAILER] {
        answer.headers_mut().remove(name);
    }
    Ok(answer)
}

/// What the client said, without its secrets and what was meant for this connection.
fn cleaned(sent: &HeaderMap) -> HeaderMap {
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
    headers
}

/// Nobody but us says for whom we speak.
fn is_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-remote-")
        || name.starts_with("impersonate-")
        || name.starts_with("proxy-")
        || name == "keep-alive"
}
