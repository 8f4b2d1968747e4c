//! The socket: accepts connections, secures them, and hands each request to the door. Speaks HTTP/1.1, which alone can be
//! turned into something else.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kedge_pki::Requested;
use rustls::ServerConfig;
use rustls::server::ResolvesServerCert;
use rustls::version::{TLS12, TLS13};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::access::User;
use crate::door::Door;

const HANDSHAKE: Duration = Duration::from_secs(10);
/// Also how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(90);
/// More than any cluster asks of one node at once.
const MOST: usize = 2048;

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("TLS cannot be set up")]
    Setup(#[from] rustls::Error),
}

/// How connections are secured, and whose certificates are taken.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    clients: Arc<Requested>,
}

impl Tls {
    pub fn new(serving: Arc<dyn ResolvesServerCert>, clients: Arc<Requested>) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_client_cert_verifier(clients.clone())
            .with_cert_resolver(serving);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), clients })
    }
}

/// A door's place on the network.
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    tls: Tls,
}

impl Listening {
    pub async fn at(address: SocketAddr, tls: Tls) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, tls })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Until it is dropped; what is under way then goes on.
    pub async fn serve(self, door: Door) -> Infallible {
        let acceptor = TlsAcceptor::from(self.tls.config);
        let room = Arc::new(Semaphore::new(MOST));
        loop {
            let Ok(permit) = room.clone().acquire_owned().await else { continue };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    // Out of file descriptors: trying again at once would only burn the processor.
                    door.clock().sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let (acceptor, clients, door) = (acceptor.clone(), self.tls.clients.clone(), door.clone());
            tokio::spawn(async move {
                let _held = permit;
                connection(acceptor, &clients, door, stream).await;
            });
        }
    }
}

async fn connection(acceptor: TlsAcceptor, clients: &Requested, door: Door, stream: TcpStream) {
    // Typed letters must not wait for more of them.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let stream = match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            return;
        }
        Err(_) => return,
    };
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let certified = match clients.check(chain, door.clock().now()) {
        Ok(subject) => {
            let groups = subject.organizations.into_iter().chain(["system:authenticated".to_owned()]);
            let not_after = subject.not_after;
            Some((User { name: subject.common_name, groups: groups.collect(), ..User::default() }, not_after))
        }
        Err(why) => {
            if !chain.is_empty() {
                tracing::debug!(why, "a client's certificate is not ours");
            }
            None
        }
    };
    let service = service_fn(|call| {
        let (door, certified) = (door.clone(), certified.clone());
        async move {
            // A connection may outlive its certificate; a request does not.
            let now = door.clock().now();
            let user = certified.filter(|(_, not_after)| now < *not_after).map(|(user, _)| user);
            Ok::<_, Infallible>(door.answer(user.as_ref(), call).await)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_headers(128);
    let serving = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    if let Err(error) = serving.await {
        tracing::debug!(%error, "a connection ended badly");
    }
}
