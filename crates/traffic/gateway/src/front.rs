//! Where clients come in: the ports, and the workers among which connections are shared out. A worker is one thread with its own
//! connections to the endpoints; workers share nothing but the table of routes.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustls::server::ResolvesServerCert;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_rustls::TlsAcceptor;

use crate::certificates::{Chooser, provider};
use crate::plain;
use crate::resumed::Resumed;
use crate::routes::Routes;
use crate::serve::{Came, Desk, Ports};
use crate::stall::Stall;
use crate::upstream::Pool;

const BACKLOG: i32 = 1024;
/// What waits at endpoints for so long without a request is closed.
const SWEEP: Duration = Duration::from_secs(20);
/// How soon a port is tried again that somebody else had.
const AGAIN: Duration = Duration::from_millis(500);
const LONGEST_HEAD: usize = 64 * 1024;
/// What one client of HTTP/2 may keep us holding: so many answers, so much of each.
const STREAMS: u32 = 128;
const SENDING: usize = 32 * 1024;

#[derive(Clone)]
pub struct Settings {
    pub http: Option<SocketAddr>,
    pub https: Option<SocketAddr>,
    /// Shown where no Ingress has a certificate.
    pub certificate: Arc<dyn ResolvesServerCert>,
    /// Ports that others of this machine have at the moment: there it is stepped aside.
    pub taken: Option<watch::Receiver<BTreeSet<u16>>>,
    pub workers: usize,
    pub most_connections: usize,
    /// How long a client may take for the head of its next request.
    pub head_time: Duration,
    /// How long an endpoint may take to begin its answer, and either side to send or take the next piece.
    pub patience: Duration,
}

impl Settings {
    pub fn new(certificate: Arc<dyn ResolvesServerCert>) -> Self {
        Self {
            http: None,
            https: None,
            certificate,
            taken: None,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            most_connections: 16 * 1024,
            head_time: Duration::from_secs(60),
            patience: Duration::from_secs(60),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot listen on {at}")]
    Listen { at: SocketAddr, source: io::Error },
    #[error("cannot serve HTTPS")]
    Tls(#[from] rustls::Error),
    #[error("cannot start a worker")]
    Worker(#[source] io::Error),
}

/// Where is listened at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Open {
    /// Where plain HTTP is served.
    pub(crate) http: Option<SocketAddr>,
    pub(crate) https: Option<SocketAddr>,
}

/// Open ports. Nobody is served before `serve` runs.
pub struct Front {
    doors: Vec<Door>,
    routes: Arc<ArcSwap<Routes>>,
    settings: Settings,
    open: watch::Sender<Open>,
    /// Ports that could not be had; they are tried again while it serves.
    pub refused: Vec<OpenError>,
}

struct Door {
    at: SocketAddr,
    /// Not only the same port of the other family.
    is_asked_for: bool,
    /// None for as long as somebody else has the port.
    listener: Option<TcpListener>,
    tls: Option<TlsAcceptor>,
}

impl Door {
    /// Says that it is open.
    fn tell(&self, open: &watch::Sender<Open>) {
        if self.is_asked_for {
            open.send_modify(|open| {
                let place = if self.tls.is_some() { &mut open.https } else { &mut open.http };
                *place = Some(self.at);
            });
        }
    }
}

struct Guest {
    stream: std::net::TcpStream,
    from: SocketAddr,
    tls: Option<TlsAcceptor>,
    _room: OwnedSemaphorePermit,
}

impl Front {
    /// Opens the ports; needs a running tokio runtime.
    pub fn open(settings: Settings, routes: Arc<ArcSwap<Routes>>) -> Result<Self, OpenError> {
        let tls = acceptor(settings.certificate.clone(), routes.clone())?;
        let open = watch::Sender::default();
        let mut front = Self { doors: Vec::new(), routes, settings, open, refused: Vec::new() };
        let (http, https) = (front.settings.http, front.settings.https);
        for (at, tls) in [(http, None), (https, Some(tls))] {
            let Some(at) = at else { continue };
            let (at, refused) = front.add(at, true, tls.clone());
            // A machine without the sixth version has one family only.
            let other = other_family(at).filter(|other| has_family(*other));
            let other = other.and_then(|other| front.add(other, false, tls).1);
            // Whoever has a port usually has it in both; once is enough to be told.
            front.refused.extend(refused.or(other));
        }
        Ok(front)
    }

    /// Opens one, and answers where it is and why it is shut, if it is.
    fn add(
        &mut self,
        asked: SocketAddr,
        is_asked_for: bool,
        tls: Option<TlsAcceptor>,
    ) -> (SocketAddr, Option<OpenError>) {
        let opened = listen(asked).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (at, listener, refused) = match opened {
            Ok((at, listener)) => (at, Some(listener), None),
            Err(source) => (asked, None, Some(OpenError::Listen { at: asked, source })),
        };
        let door = Door { at, is_asked_for, listener, tls };
        if door.listener.is_some() {
            door.tell(&self.open);
        }
        self.doors.push(door);
        (at, refused)
    }

    /// Where is listened, now and from then on.
    pub(crate) fn listening(&self) -> watch::Receiver<Open> {
        self.open.subscribe()
    }

    /// Where plain HTTP is served.
    pub fn http(&self) -> Option<SocketAddr> {
        self.open.borrow().http
    }

    pub fn https(&self) -> Option<SocketAddr> {
        self.open.borrow().https
    }

    /// Whoever is sent to the other port is sent to where it will be, if it isn't there yet.
    fn ports(&self) -> Ports {
        let port = |is_meant: fn(&Door) -> bool| {
            self.doors.iter().find(|door| is_meant(door)).map(|door| door.at.port())
        };
        Ports { http: port(|door| door.tls.is_none()), https: port(|door| door.tls.is_some()) }
    }

    /// Serves until it is dropped.
    pub async fn serve(self) -> Result<(), OpenError> {
        let started = (0..self.settings.workers.max(1)).map(|number| Worker::start(number, &self));
        let workers: Vec<Worker> = started.collect::<Result<_, _>>()?;
        let workers: Arc<[Worker]> = workers.into();
        let room = Arc::new(Semaphore::new(self.settings.most_connections));
        let taken = self.settings.taken.unwrap_or_else(|| watch::Sender::default().subscribe());
        let open = &self.open;
        let accepting = self
            .doors
            .into_iter()
            .map(|door| accept(door, open, workers.clone(), room.clone(), taken.clone()));
        futures::future::join_all(accepting).await;
        Ok(())
    }
}

fn acceptor(
    own: Arc<dyn ResolvesServerCert>,
    routes: Arc<ArcSwap<Routes>>,
) -> Result<TlsAcceptor, OpenError> {
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Chooser { routes, own }));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Where all of one family are listened to, all of the other are too, at the same port.
fn other_family(at: SocketAddr) -> Option<SocketAddr> {
    let is_all = at.is_ipv4() && at.ip().is_unspecified();
    is_all.then_some(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), at.port()))
}

/// Whether this machine can listen to the family of an address.
fn has_family(at: SocketAddr) -> bool {
    listen(SocketAddr::new(at.ip(), 0)).is_ok()
}

fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Connections of a gateway that ended a moment ago are no reason to wait. A port that is listened to is not shared.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if at.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    rustix::net::bind(&socket, &at)?;
    rustix::net::listen(&socket, BACKLOG)?;
    TcpListener::from_std(std::net::TcpListener::from(socket))
}

/// Waits until nobody has the port any more.
async fn again(at: SocketAddr, taken: &mut watch::Receiver<BTreeSet<u16>>) -> TcpListener {
    loop {
        // Nobody who could tell is left: whether it can be had shows.
        drop(taken.wait_for(|taken| !taken.contains(&at.port())).await);
        match listen(at) {
            Ok(listener) => return listener,
            // What had it takes a moment to end.
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

async fn accept(
    mut door: Door,
    open: &watch::Sender<Open>,
    workers: Arc<[Worker]>,
    room: Arc<Semaphore>,
    mut taken: watch::Receiver<BTreeSet<u16>>,
) {
    let mut listener = match door.listener.take() {
        Some(listener) => listener,
        None => {
            let listener = again(door.at, &mut taken).await;
            tracing::info!("the gateway is at {} now", door.at);
            door.tell(open);
            listener
        }
    };
    let Door { at, tls, .. } = door;
    loop {
        if taken.borrow_and_update().contains(&at.port()) {
            drop(listener);
            tracing::info!(
                "a pod of this machine's own network has port {}: the gateway leaves it",
                at.port()
            );
            listener = again(at, &mut taken).await;
            tracing::info!("the gateway is at {at} again");
        }
        let Ok(_room) = room.clone().acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Ok(()) = taken.changed() => continue,
        };
        let accepted = accepted.and_then(|(stream, from)| Ok((stream.into_std()?, from)));
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // A client that left again is nothing; too many open files end by themselves, if at all.
                tracing::debug!("a connection could not be taken: {error}");
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let guest = Guest { stream, from, tls: tls.clone(), _room };
        if let Some(least) = workers.iter().min_by_key(|worker| worker.guests.load(Ordering::Relaxed)) {
            least.take(guest);
        }
    }
}

struct Worker {
    door: mpsc::UnboundedSender<Guest>,
    guests: Arc<AtomicUsize>,
}

impl Worker {
    fn start(number: usize, front: &Front) -> Result<Self, OpenError> {
        let (door, mut coming) = mpsc::unbounded_channel::<Guest>();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(OpenError::Worker)?;
        let guests = Arc::new(AtomicUsize::new(0));
        let settings = &front.settings;
        let pool = Arc::new(Pool::default());
        let ports = front.ports();
        let (head_time, patience) = (settings.head_time, settings.patience);
        let desk = Desk { routes: front.routes.clone(), ports, pool: pool.clone(), patience };
        let host = Arc::new(Host { desk, http: http(head_time), head_time, patience });
        let counted = guests.clone();
        let work = async move {
            tokio::spawn(async move {
                loop {
                    pool.is_used().await;
                    tokio::time::sleep(SWEEP).await;
                    pool.sweep();
                }
            });
            while let Some(guest) = coming.recv().await {
                let (host, counted) = (host.clone(), counted.clone());
                tokio::spawn(async move {
                    host.welcome(guest).await;
                    counted.fetch_sub(1, Ordering::Relaxed);
                });
            }
        };
        std::thread::Builder::new()
            .name(format!("gateway-{number}"))
            .spawn(move || runtime.block_on(work))
            .map_err(OpenError::Worker)?;
        Ok(Self { door, guests })
    }

    fn take(&self, guest: Guest) {
        self.guests.fetch_add(1, Ordering::Relaxed);
        if self.door.send(guest).is_err() {
            self.guests.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn http(head_time: Duration) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        // Between requests too: who has nothing to ask makes room for others.
        .header_read_timeout(head_time)
        .max_buf_size(LONGEST_HEAD);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_send_buf_size(SENDING)
        .max_header_list_size(u32::try_from(LONGEST_HEAD).unwrap_or(u32::MAX))
        .keep_alive_interval(head_time)
        .keep_alive_timeout(Duration::from_secs(20));
    http
}

/// Serves the connections of one worker.
struct Host {
    desk: Desk,
    http: auto::Builder<TokioExecutor>,
    head_time: Duration,
    patience: Duration,
}

impl Host {
    async fn welcome(self: Arc<Self>, guest: Guest) {
        let Ok(stream) = TcpStream::from_std(guest.stream) else { return };
        let _told = stream.set_nodelay(true);
        let _kept = sockopt::set_socket_keepalive(&stream, true);
        let stream = Stall::new(stream, self.patience);
        let came = Came { from: guest.from.ip().to_canonical(), is_secure: guest.tls.is_some() };
        match guest.tls {
            None => self.serve(stream, came).await,
            Some(tls) => {
                let shaking = tokio::time::timeout(self.patience, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = shaking {
                    self.serve(stream, came).await;
                }
            }
        }
    }

    async fn serve<S>(self: &Arc<Self>, stream: S, came: Came)
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let plain = plain::serve(stream, &self.desk, came, self.head_time).await;
        let Some((stream, said)) = plain else { return };
        let stream = Resumed::new(stream, said);
        let service = service_fn(|request| {
            let host = self.clone();
            async move { Ok::<_, std::convert::Infallible>(host.desk.answer(request, came).await) }
        });
        // How a client's connection ends is the client's business.
        let _ended = self.http.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
    }
}

#[cfg(test)]
mod tests {
    use rustls::server::ClientHello;
    use rustls::sign::CertifiedKey;

    use super::*;

    #[derive(Debug)]
    struct Nobody;

    impl ResolvesServerCert for Nobody {
        fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            None
        }
    }

    async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        for _ in 0..1000 {
            if let Some(seen) = look() {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("still untrue: {what}")
    }

    #[tokio::test]
    async fn a_port_that_a_pod_has_is_left_to_it() {
        let (taken, told) = watch::channel(BTreeSet::new());
        let http = Some(([127, 0, 0, 1], 0).into());
        let settings = Settings { http, taken: Some(told), workers: 1, ..Settings::new(Arc::new(Nobody)) };
        let front = Front::open(settings, Arc::default()).unwrap();
        let at = front.http().unwrap();
        let serving = tokio::spawn(front.serve());
        let reach = || std::net::TcpStream::connect(at).ok();
        until("the gateway listens", reach).await;
        taken.send_replace([at.port()].into());
        let pods = until("the pod can listen", || std::net::TcpListener::bind(at).ok()).await;
        taken.send_replace(BTreeSet::new());
        drop(pods);
        until("the gateway listens again", reach).await;
        serving.abort();
    }

    #[tokio::test]
    async fn a_port_that_somebody_has_at_the_start_is_had_later() {
        // In one family only: that we have the other is not what was asked for.
        let theirs = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let at = theirs.local_addr().unwrap();
        let https = Some(([127, 0, 0, 1], 0).into());
        let settings = Settings { http: Some(at), https, workers: 1, ..Settings::new(Arc::new(Nobody)) };
        let front = Front::open(settings, Arc::default()).unwrap();
        let told: Vec<String> = front.refused.iter().map(ToString::to_string).collect();
        assert_eq!(told, [format!("cannot listen on {at}")]);
        assert!(front.http().is_none() && front.https().is_some(), "the other port is there");
        assert_eq!(front.ports().http, Some(at.port()));
        let open = front.listening();
        let serving = tokio::spawn(front.serve());
        drop(theirs);
        until("the gateway says that it listens", || open.borrow().http.filter(|told| *told == at)).await;
        until("the gateway listens", || std::net::TcpStream::connect(at).ok()).await;
        serving.abort();
    }
}
