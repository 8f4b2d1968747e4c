//! The runtime's side of a stream: its address, dialled and turned into SPDY.

use bytes::Bytes;
use http::header::{CONNECTION, HOST, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::answer::Refusal;

pub(super) const SPDY: HeaderValue = HeaderValue::from_static("SPDY/3.1");
pub(super) const VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");

pub(super) type Io = TokioIo<Upgraded>;

/// The runtime's answer: what it says, and then the connection itself.
pub(super) struct Reached {
    pub(super) headers: HeaderMap,
    pub(super) io: Io,
}

/// Asks the runtime to speak SPDY, in one of the versions of what is said over it.
pub(super) async fn reach(address: &str, versions: Vec<HeaderValue>) -> Result<Reached, Refusal> {
    let wrong = |why: &str| Refusal::failed(format!("the runtime's address {address} {why}"));
    let uri: Uri = address.parse().map_err(|_| wrong("is none"))?;
    let authority = uri.authority().ok_or_else(|| wrong("names no host"))?.clone();
    if uri.scheme_str() != Some("http") {
        return Err(wrong("is not http"));
    }
    let stream = TcpStream::connect((authority.host(), authority.port_u16().unwrap_or(80)))
        .await
        .map_err(|error| wrong(&format!("does not answer: {error}")))?;
    stream.set_nodelay(true).map_err(Refusal::failed)?;
    let (mut sender, connection) =
        http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.map_err(Refusal::failed)?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to the runtime ended badly");
        }
    });
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::new(Empty::new());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = path.parse().map_err(|_| wrong("has no path"))?;
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(authority.as_str()).map_err(|_| wrong("names no host"))?);
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, SPDY);
    for version in versions {
        headers.append(VERSION, version);
    }
    let answer = sender.send_request(request).await.map_err(Refusal::failed)?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(refused(answer).await);
    }
    let headers = answer.headers().clone();
    let upgraded = hyper::upgrade::on(answer).await.map_err(Refusal::failed)?;
    Ok(Reached { headers, io: TokioIo::new(upgraded) })
}

async fn refused(answer: Response<Incoming>) -> Refusal {
    let status = answer.status();
    let text = answer.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Refusal::new(status, String::from_utf8_lossy(&text).into_owned())
}
