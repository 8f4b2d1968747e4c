//! Sockets: accepts connections, speaks TLS and HTTP/1.1 or 2 on them, and lets them finish when told to stop.
//! Knows nothing of the API but its router.

mod guests;
mod preface;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use guests::Guests;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use kedge_pki::{Requested, Serving};
use preface::Preface;
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::router::Router;
use crate::who::Peer;

const HANDSHAKE: Duration = Duration::from_secs(30);
/// How long a peer may say nothing at first.
const FIRST_WORDS: Duration = Duration::from_secs(30);
/// A peer that vanished without a word is noticed after this and another half of it.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(15);
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
const STREAMS: u32 = 250;
const SEND_BUFFER: usize = 256 * 1024;
/// By HTTP/1.1 as much of an answer is made before it is handed to the network, which is soon enough to find it in the processor's caches.
/// No request's head may be longer.
const BUFFER: usize = 128 * 1024;
/// How long requests that are under way may take to end after a stop.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// How connections are secured.
pub struct Tls {
    config: Arc<ServerConfig>,
    clients: Arc<Requested>,
}

impl Tls {
    pub fn new(serving: Arc<Serving>, clients: Arc<Requested>) -> Result<Self, ServeError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])?
            .with_client_cert_verifier(clients.clone())
            .with_cert_resolver(serving);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config), clients })
    }
}

/// Serves until `stop` turns true, then until what is under way has ended, within a grace period.
pub async fn serve(listener: TcpListener, tls: Tls, router: Router, mut stop: watch::Receiver<bool>) {
    let acceptor = TlsAcceptor::from(tls.config);
    let most = router.most_connections();
    let room = Arc::new(Semaphore::new(most as usize));
    let guests = Guests::new(most as usize);
    loop {
        let permit = tokio::select! {
            Ok(permit) = room.clone().acquire_owned() => permit,
            () = stopped(&mut stop) => break,
        };
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    pause_after(&error).await;
                    continue;
                }
            },
            () = stopped(&mut stop) => break,
        };
        // Closed without a word: whoever has so many connections need not be told.
        let Some(guest) = guests.enter(address.ip()) else {
            tracing::debug!(%address, "too many connections from one address");
            continue;
        };
        let (acceptor, router, clients, mut stop) =
            (acceptor.clone(), router.clone(), tls.clients.clone(), stop.clone());
        tokio::spawn(async move {
            // What outlives the connection's requests has its place as long.
            let held = Arc::new((permit, guest));
            // Answers are written in one go; waiting to fill a packet only delays them.
            if stream.set_nodelay(true).is_err() {
                return;
            }
            let secured = tokio::select! {
                secured = secured(acceptor, stream, &clients, &router) => secured,
                () = stopped(&mut stop) => None,
            };
            if let Some((stream, peer)) = secured {
                connection(stream, router.for_peer(peer).from(address.ip(), held.clone()), stop).await;
            }
        });
    }
    drop(listener);
    router.stop();
    if tokio::time::timeout(GRACE, room.acquire_many(most)).await.is_err() {
        tracing::warn!("connections were still open at the end of the grace period");
    }
}

/// Out of file descriptors: trying again at once would only burn the processor.
async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "cannot accept a connection");
    if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn secured(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    clients: &Requested,
    router: &Router,
) -> Option<(TlsStream<TcpStream>, Peer)> {
    let stream = match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            return None;
        }
        Err(_) => return None,
    };
    let peer = match stream.get_ref().1.peer_certificates() {
        None | Some([]) => Peer::Nobody,
        Some(chain) => match clients.check(chain, router.now()) {
            Ok(subject) => Peer::certified(subject),
            Err(why) => Peer::Doubtful(why),
        },
    };
    Some((stream, peer))
}

/// Returns when `stop` is true, or when nobody is left who could turn it.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ended = stop.wait_for(|stop| *stop).await;
}

/// The handshake has settled which version of HTTP is spoken; who settled nothing speaks the old one.
async fn connection(stream: TlsStream<TcpStream>, router: Router, stop: watch::Receiver<bool>) {
    let new = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let head = router.patience().head;
    let service = TowerToHyperService::new(router);
    let ended = if new {
        let stream = TokioIo::new(Preface::new(stream, preface::HTTP2, FIRST_WORDS));
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(STREAMS)
            .max_send_buf_size(SEND_BUFFER)
            .max_header_list_size(64 * 1024)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT);
        let serving = builder.serve_connection(stream, service);
        until_stopped(serving, |serving| serving.graceful_shutdown(), stop).await
    } else {
        let stream = TokioIo::new(Preface::new(stream, 1, FIRST_WORDS));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(head).max_headers(128).max_buf_size(BUFFER);
        let serving = builder.serve_connection(stream, service).with_upgrades();
        until_stopped(serving, |serving| serving.graceful_shutdown(), stop).await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}

async fn until_stopped<F: Future>(
    serving: F,
    wind_down: impl FnOnce(Pin<&mut F>),
    mut stop: watch::Receiver<bool>,
) -> F::Output {
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => return ended,
        () = stopped(&mut stop) => {}
    }
    wind_down(serving.as_mut());
    serving.await
}
