//! Makes one connection: to the server that took the last one, or else to the next that takes one. A machine that falls silent in
//! the middle of a conversation is noticed by the kernel.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use kedge_pki::Anyone;
use parking_lot::RwLock;
use rustix::net::sockopt;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::open::Open;
use super::place::Place;
use super::{Ties, TiesError};

/// How long one server has to take a connection before the next is asked.
const PATIENCE: Duration = Duration::from_secs(3);
/// When a connection that says nothing is asked whether it lives, how often, and after how many silences it is over.
const QUIET: Duration = Duration::from_secs(5);
const BETWEEN: Duration = Duration::from_secs(2);
const SILENCES: u32 = 3;
/// How long what we said may stay unanswered.
const UNANSWERED: u32 = 10_000;

/// The servers, the one that answered last first.
pub(super) struct Places(RwLock<Vec<Place>>);

impl Places {
    pub(super) fn new(places: Vec<Place>) -> Self {
        Self(RwLock::new(places))
    }

    pub(super) fn all(&self) -> Vec<Place> {
        self.0.read().clone()
    }

    /// Keeps asking the one first that was asked first, if it is still among them.
    pub(super) fn set(&self, mut places: Vec<Place>) {
        let mut held = self.0.write();
        if let Some(at) = held.first().and_then(|first| places.iter().position(|place| place == first)) {
            places[..=at].rotate_right(1);
        }
        *held = places;
    }

    fn prefer(&self, place: &Place) {
        if self.0.read().first() == Some(place) {
            return;
        }
        let mut held = self.0.write();
        if let Some(at) = held.iter().position(|known| known == place) {
            held[..=at].rotate_right(1);
        }
    }
}

#[derive(Clone)]
pub(super) struct Connector {
    places: Arc<Places>,
    open: Arc<Open>,
    tls: TlsConnector,
    /// Whom every certificate is made out to, if not to the place where its server is.
    name: Option<String>,
}

impl Connector {
    pub(super) fn new(
        (places, open): (Arc<Places>, Arc<Open>),
        tls: Arc<ClientConfig>,
        name: Option<String>,
    ) -> Self {
        Self { places, open, tls: TlsConnector::from(tls), name }
    }

    async fn connect(self) -> io::Result<Secured> {
        let mut failures = Vec::new();
        for place in self.places.all() {
            let failure = match tokio::time::timeout(PATIENCE, self.dial(&place)).await {
                Ok(Ok(stream)) => {
                    self.places.prefer(&place);
                    let held = self.open.add(stream.get_ref().0)?;
                    return Ok(Secured { stream: Box::new(TokioIo::new(stream)), _held: held });
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            failures.push(format!("{place}: {failure}"));
        }
        Err(io::Error::other(format!("no server can be reached: {}", failures.join("; "))))
    }

    async fn dial(&self, place: &Place) -> io::Result<TlsStream<TcpStream>> {
        let name = self.name.as_ref().unwrap_or(&place.host).clone();
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        let stream = TcpStream::connect((place.host.as_str(), place.port)).await?;
        stream.set_nodelay(true)?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, QUIET)?;
        sockopt::set_tcp_keepintvl(&stream, BETWEEN)?;
        sockopt::set_tcp_keepcnt(&stream, SILENCES)?;
        sockopt::set_tcp_user_timeout(&stream, UNANSWERED)?;
        self.tls.connect(name, stream).await
    }
}

pub(super) fn tls(ties: &Ties) -> Result<Arc<ClientConfig>, TiesError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let trusting = |authority: &str| {
        let mut roots = RootCertStore::empty();
        let der = CertificateDer::from_pem_slice(authority.as_bytes()).map_err(TiesError::Certificate)?;
        roots.add(der)?;
        Ok::<_, TiesError>(roots)
    };
    let config = match ties {
        Ties::Blind => {
            let anybody = Arc::new(Anyone(provider));
            builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth()
        }
        Ties::Token { authority, .. } => {
            builder.with_root_certificates(trusting(authority)?).with_no_client_auth()
        }
        Ties::Certificate { authority, certificate, key } => {
            let chain =
                CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(TiesError::Certificate)?;
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(TiesError::Certificate)?;
            builder.with_root_certificates(trusting(authority)?).with_client_auth_cert(vec![chain], key)?
        }
    };
    Ok(Arc::new(config))
}

impl tower::Service<Uri> for Connector {
    type Response = Secured;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(self.clone().connect())
    }
}

pub(super) struct Secured {
    stream: Box<TokioIo<TlsStream<TcpStream>>>,
    _held: Arc<OwnedFd>,
}

impl Connection for Secured {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Secured {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl Write for Secured {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
