//! Pages asked for over HTTP, and over HTTPS without a look at the certificate. Redirects are followed within one host. The
//! answer's text is never told: it may hold what is nobody's business.

mod anyone;
mod page;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

pub use self::page::Page;
use crate::dial::dial;
use crate::{MOST_READ, Outcome};

const MOST_REDIRECTS: usize = 10;

#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error("Get {url:?}: {reason}")]
    Failed { url: String, reason: String },
    #[error("Get {url:?}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    TimedOut { url: String },
    /// Whoever answers speaks without TLS.
    #[error("Get {url:?}: http: server gave HTTP response to HTTPS client")]
    Plain { url: String },
    #[error("Get {url:?}: stopped after 10 redirects")]
    Lost { url: String },
}

/// Whether a page is there: every code from 200 to 399 is an answer.
pub async fn http(page: &Page, limit: Duration) -> Outcome {
    let (status, body) = match fetch(page, limit).await {
        Ok(answer) => answer,
        Err(error) => return Outcome::Failure(error.to_string()),
    };
    match status.as_u16() {
        200..300 => Outcome::Success,
        300..400 => {
            let body = String::from_utf8_lossy(&body).into_owned();
            Outcome::Warning(format!("Probe terminated redirects, Response body: {body}"))
        }
        code => Outcome::Failure(format!("HTTP probe failed with statuscode: {code}")),
    }
}

/// Asks for a page, whatever the answer is.
pub async fn fetch(page: &Page, limit: Duration) -> Result<(StatusCode, Bytes), WebError> {
    let followed = timeout(limit, follow(page.clone())).await;
    followed.unwrap_or_else(|_| Err(WebError::TimedOut { url: page.url() }))
}

async fn follow(mut page: Page) -> Result<(StatusCode, Bytes), WebError> {
    for _ in 0..=MOST_REDIRECTS {
        let failed = |reason: String| WebError::Failed { url: page.url(), reason };
        let response = ask(&page).await?;
        let status = response.status();
        let body = read(response.into_parts(), failed).await?;
        match body.next.and_then(|location| page.at(&location)) {
            Some(next) if status.is_redirection() => page = next,
            _ => return Ok((status, body.bytes)),
        }
    }
    Err(WebError::Lost { url: page.url() })
}

async fn ask(page: &Page) -> Result<Response<Incoming>, WebError> {
    let failed = |reason: String| WebError::Failed { url: page.url(), reason };
    let stream = dial(&page.host, page.port).await.map_err(failed)?;
    if !page.tls {
        return exchange(page, stream).await.map_err(failed);
    }
    let name = ServerName::try_from(page.host.clone()).map_err(|error| failed(error.to_string()))?;
    let connector = TlsConnector::from(anyone::config().map_err(|error| failed(error.to_string()))?);
    match connector.connect(name, stream).await {
        Ok(stream) => exchange(page, stream).await.map_err(failed),
        Err(error) if speaks_plainly(&error) => Err(WebError::Plain { url: page.url() }),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn speaks_plainly(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType)))
}

async fn exchange(
    page: &Page,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<Response<Incoming>, String> {
    let request = page.request().map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    // It lives as long as the answer is read, and ends with it.
    tokio::spawn(connection);
    sender.send_request(request.map(|()| Empty::<Bytes>::new())).await.map_err(|error| told(&error))
}

/// hyper's own words leave out the cause.
fn told(error: &hyper::Error) -> String {
    let cause = std::error::Error::source(error);
    match cause {
        _ if error.is_incomplete_message() => "EOF".to_owned(),
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

struct Read {
    bytes: Bytes,
    next: Option<String>,
}

async fn read(
    (head, mut body): (http::response::Parts, Incoming),
    failed: impl Fn(String) -> WebError,
) -> Result<Read, WebError> {
    let mut bytes = BytesMut::new();
    while bytes.len() < MOST_READ {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|error| failed(told(&error)))?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    bytes.truncate(MOST_READ);
    let next = head.headers.get(http::header::LOCATION);
    let next = next.and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(Read { bytes: bytes.freeze(), next })
}

/// Shared with everybody who asks.
type Config = Arc<rustls::ClientConfig>;
