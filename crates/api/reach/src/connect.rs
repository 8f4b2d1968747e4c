//! Makes one connection: looks the name up, dials, shakes hands unless it is to be in the clear. Knows nothing of HTTP but that it may be version 2.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::Cause;
use crate::target::Door;

const DIAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Connects to one door, whatever is asked for behind it.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) door: Door,
    pub(crate) name: ServerName<'static>,
    /// None where nothing is to be hidden.
    pub(crate) tls: Option<TlsConnector>,
}

pub(crate) enum Line {
    Plain(TokioIo<TcpStream>),
    Secured(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl tower::Service<Uri> for Connector {
    type Response = Line;
    type Error = Cause;
    type Future = Pin<Box<dyn Future<Output = Result<Line, Cause>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { this.connect().await })
    }
}

impl Connector {
    pub(crate) async fn connect(&self) -> Result<Line, Cause> {
        let stream = dial(&self.door).await?;
        let Some(tls) = &self.tls else { return Ok(Line::Plain(TokioIo::new(stream))) };
        let handshake = tls.connect(self.name.clone(), stream).await;
        let stream = handshake.map_err(|source| Cause::Handshake { source: Arc::new(source) })?;
        Ok(Line::Secured(Box::new(TokioIo::new(stream))))
    }
}

async fn dial(door: &Door) -> Result<TcpStream, Cause> {
    let addresses = match door {
        Door::Address(address) => vec![*address],
        Door::Host(host, port) => {
            let found = tokio::net::lookup_host((host.as_str(), *port)).await;
            found.map_err(|_| Cause::Lookup { host: host.clone() })?.collect()
        }
    };
    let mut failure = match door {
        Door::Address(at) => Cause::Lookup { host: at.to_string() },
        Door::Host(host, _) => Cause::Lookup { host: host.clone() },
    };
    for address in addresses {
        match tokio::time::timeout(DIAL_TIMEOUT, connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(source)) => failure = Cause::Dial { at: address.to_string(), source: Arc::new(source) },
            Err(_) => failure = Cause::DialTimeout { at: address.to_string() },
        }
    }
    Err(failure)
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Connection for Line {
    fn connected(&self) -> Connected {
        let negotiated = match self {
            Line::Plain(_) => None,
            Line::Secured(stream) => stream.inner().get_ref().1.alpn_protocol(),
        };
        match negotiated {
            Some(b"h2") => Connected::new().negotiated_h2(),
            _ => Connected::new(),
        }
    }
}

impl Read for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Line::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Line::Secured(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl Write for Line {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Line::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Line::Secured(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Line::Plain(stream) => Pin::new(stream).poll_flush(context),
            Line::Secured(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Line::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Line::Secured(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Line::Plain(stream) => stream.is_write_vectored(),
            Line::Secured(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Line::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Line::Secured(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }
}
