//! A gateway, a world for it, servers behind it and clients before it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use http_body::{Body, Frame};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kedge_client::{Key, Revision, Watched, World};
use kedge_clock::Clock;
use kedge_facts::{Service, Slice};
use kedge_gateway::{DnsRecord, Front, Routes, Settings, TlsSecret};
use kedge_pki::{Authority, Leaf, Names, Purpose, Serving};
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(crate) struct Stage {
    pub(crate) http: SocketAddr,
    https: SocketAddr,
    world: World,
    authority: Authority,
    _folder: tempfile::TempDir,
    tasks: Vec<JoinHandle<()>>,
    endless: Arc<Endless>,
    revision: AtomicU64,
}

#[derive(Default)]
struct Endless {
    sent: AtomicUsize,
    is_over: AtomicBool,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::patient(Duration::from_secs(20)).await
    }

    pub(crate) async fn patient(patience: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let authority = Authority::open(folder.path(), "tests", &clock).unwrap();
        let names = Names {
            common_name: "the gateway".to_owned(),
            organization: None,
            hosts: vec!["gateway.io".to_owned()],
        };
        let leaf = Leaf::new(folder.path(), "gateway", names, Purpose::Server);
        let own = Serving::start(leaf, &authority, clock.now()).unwrap();
        let world = World::by_hand();
        hold::<IngressClass>(
            &world,
            json!([{"metadata": {"name": "kedge"}, "spec": {"controller": kedge_gateway::CONTROLLER}}]),
        );
        hold::<Ingress>(&world, json!([]));
        hold::<DnsRecord>(&world, json!([]));
        hold::<Service>(&world, json!([]));
        hold::<Slice>(&world, json!([]));
        hold::<TlsSecret>(&world, json!([]));
        let settings = Settings {
            http: Some("127.0.0.1:0".parse().unwrap()),
            https: Some("127.0.0.1:0".parse().unwrap()),
            workers: 2,
            patience,
            head_time: patience,
            ..Settings::new(own)
        };
        let routes = Arc::new(ArcSwap::from_pointee(Routes::default()));
        let front = Front::open(settings, routes.clone()).unwrap();
        assert!(front.refused.is_empty());
        let (http, https) = (front.http().unwrap(), front.https().unwrap());
        let serving = tokio::spawn(async move { front.serve().await.unwrap() });
        let keeping = tokio::spawn(kedge_gateway::keep(world.clone(), clock, routes));
        Self {
            http,
            https,
            world,
            authority,
            _folder: folder,
            tasks: vec![serving, keeping],
            endless: Arc::default(),
            revision: AtomicU64::new(2),
        }
    }

    fn put<K: Watched + serde::de::DeserializeOwned>(&self, mut value: Value) {
        value["metadata"]["resourceVersion"] =
            self.revision.fetch_add(1, Ordering::SeqCst).to_string().into();
        self.world.feed::<K>().put(serde_json::from_value(value).unwrap());
    }

    pub(crate) fn service(&self, name: &str, port: u16, endpoints: &[SocketAddr]) {
        self.service_of(name, port, endpoints, None);
    }

    pub(crate) fn service_of(&self, name: &str, port: u16, endpoints: &[SocketAddr], protocol: Option<&str>) {
        self.put::<Service>(json!({
            "metadata": {"name": name, "namespace": "n"},
            "spec": {"ports": [{"name": "http", "port": port, "appProtocol": protocol}]},
        }));
        // Each endpoint has a port of its own here, and with it a slice.
        for number in 0..2 {
            let here: Vec<&SocketAddr> = endpoints.get(number).into_iter().collect();
            self.put::<Slice>(json!({
                "metadata": {
                    "name": format!("{name}-{number}"), "namespace": "n", "labels": {"kubernetes.io/service-name": name},
                },
                "addressType": "IPv4",
                "ports": here.iter().map(|at| json!({"name": "http", "port": at.port()})).collect::<Vec<_>>(),
                "endpoints": here.iter().map(|at| json!({"addresses": [at.ip()]})).collect::<Vec<_>>(),
            }));
        }
    }

    pub(crate) fn record(&self, name: &str, host: &str, paths: &[(&str, &str, u16)]) {
        let paths: Vec<Value> = paths
            .iter()
            .map(|(path, service, port)| json!({"pathName": path, "service": service, "port": port}))
            .collect();
        self.put::<DnsRecord>(json!({
            "metadata": {"name": name, "namespace": "n", "creationTimestamp": "2030-01-01T12:00:00Z"},
            "spec": {"host": host, "paths": paths},
        }));
    }

    pub(crate) fn remove_record(&self, name: &str) {
        let cache = self.world.feed::<DnsRecord>();
        let record = cache.get(&Key::new("n", name)).unwrap();
        cache.remove((*record).clone());
    }

    /// An Ingress for all of a host, that wants HTTPS.
    pub(crate) fn ingress(&self, name: &str, host: &str, service: &str, secret: &str) {
        self.put::<Ingress>(json!({
            "metadata": {
                "name": name, "namespace": "n", "creationTimestamp": "2030-01-01T12:00:00Z",
                "annotations": {"kedge.dev/https-redirect": "true"},
            },
            "spec": {
                "ingressClassName": "kedge", "tls": [{"hosts": [host], "secretName": secret}],
                "rules": [{"host": host, "http": {"paths": [
                    {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}}},
                ]}}],
            },
        }));
    }

    /// A certificate whose common name is `name`, for all names of these tests.
    pub(crate) fn secret(&self, secret: &str, name: &str) {
        let names =
            Names { common_name: name.to_owned(), organization: None, hosts: vec!["secure.io".to_owned()] };
        let issued = self.authority.issue(&names, Purpose::Server, Clock::system().now()).unwrap();
        let bytes = |text: String| serde_json::to_value(k8s_openapi::ByteString(text.into_bytes())).unwrap();
        self.put::<TlsSecret>(json!({
            "metadata": {"name": secret, "namespace": "n"},
            "data": {"tls.crt": bytes(issued.certificate), "tls.key": bytes(issued.key)},
        }));
    }

    pub(crate) fn endless_ended(&self) -> bool {
        self.endless.is_over.load(Ordering::SeqCst)
    }

    pub(crate) fn endless_sent(&self) -> usize {
        self.endless.sent.load(Ordering::SeqCst)
    }

    pub(crate) async fn server(&self, name: &'static str) -> SocketAddr {
        self.mortal_server(name).await.0
    }

    /// Ends, with all its connections, when the task is ended.
    pub(crate) async fn mortal_server(&self, name: &'static str) -> (SocketAddr, JoinHandle<()>) {
        let endless = self.endless.clone();
        serve(move |request| answer(name, request, endless.clone())).await
    }

    pub(crate) async fn grpc_server(&self) -> SocketAddr {
        let (address, _task) = serve(|request| async {
            let said = format!(
                "{} {} te={} version={:?} ",
                request.method(),
                request.uri().path(),
                request.headers().get("te").and_then(|te| te.to_str().ok()).unwrap_or_default(),
                request.version(),
            );
            let mut body = said.into_bytes();
            body.extend_from_slice(&request.into_body().collect().await.unwrap().to_bytes());
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from_static("0"));
            let frames = [Ok(Frame::data(Bytes::from(body))), Ok(Frame::trailers(trailers))];
            Response::new(StreamBody::new(futures::stream::iter(frames)).boxed())
        })
        .await;
        address
    }

    async fn secure(&self, name: &str, protocol: &str) -> tokio_rustls::client::TlsStream<TcpStream> {
        #[derive(Debug)]
        struct Whoever;
        impl rustls::client::danger::ServerCertVerifier for Whoever {
            fn verify_server_cert(
                &self,
                _: &CertificateDer<'_>,
                _: &[CertificateDer<'_>],
                _: &ServerName<'_>,
                _: &[u8],
                _: rustls::pki_types::UnixTime,
            ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
                Ok(rustls::client::danger::ServerCertVerified::assertion())
            }
            fn verify_tls12_signature(
                &self,
                _: &[u8],
                _: &CertificateDer<'_>,
                _: &rustls::DigitallySignedStruct,
            ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
                Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
            }
            fn verify_tls13_signature(
                &self,
                _: &[u8],
                _: &CertificateDer<'_>,
                _: &rustls::DigitallySignedStruct,
            ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
                Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
            }
            fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
                rustls::crypto::aws_lc_rs::default_provider()
                    .signature_verification_algorithms
                    .supported_schemes()
            }
        }
        let mut config = rustls::ClientConfig::builder_with_provider(Arc::new(
            rustls::crypto::aws_lc_rs::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Whoever))
        .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.https).await.unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    /// Which of the names of these tests is in the certificate that is shown.
    pub(crate) async fn shown(&self, name: &str) -> &'static str {
        let stream = self.secure(name, "http/1.1").await;
        let shown = &stream.get_ref().1.peer_certificates().unwrap()[0];
        let has = |text: &str| shown.windows(text.len()).any(|part| part == text.as_bytes());
        ["the gateway", "renewed.secure.io", "secure.io"].into_iter().find(|name| has(name)).unwrap()
    }

    pub(crate) async fn get_over_tls(&self, name: &str, path: &str, protocol: &str) -> (StatusCode, Version) {
        let stream = TokioIo::new(self.secure(name, protocol).await);
        let request = Request::get(format!("https://{name}{path}")).header("host", name);
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let answer = if protocol == "h2" {
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            let request = Request::get(format!("https://{name}{path}")).body(Empty::<Bytes>::new()).unwrap();
            sender.send_request(request).await.unwrap()
        } else {
            let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        };
        (answer.status(), answer.version())
    }
}

fn hold<K: Watched + serde::de::DeserializeOwned>(world: &World, objects: Value) {
    world.feed::<K>().replace(serde_json::from_value(objects).unwrap(), Revision(1));
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

async fn serve<F: Future<Output = Answer> + Send + 'static>(
    answer: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            connections.spawn(async move {
                let service = service_fn(|request| {
                    let answered = answer(request);
                    async { Ok::<_, Infallible>(answered.await) }
                });
                let _ended = auto::Builder::new(TokioExecutor::new())
                    .serve_connection_with_upgrades(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    (address, task)
}

async fn answer(name: &'static str, mut request: Request<Incoming>, endless: Arc<Endless>) -> Answer {
    match request.uri().path() {
        "/echo" => {
            let client = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let mut stream = TokioIo::new(client.await.unwrap());
                let mut bytes = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut bytes).await {
                    stream.write_all(&bytes[..length]).await.unwrap();
                }
            });
            let switched = Response::builder().status(101).header("connection", "upgrade");
            let switched = switched.header("upgrade", "websocket").header("sec-websocket-accept", "y");
            switched.body(Empty::new().boxed()).unwrap()
        }
        "/mirror" => Response::new(request.into_body().map_err(|error| panic!("{error}")).boxed()),
        "/endless" => Response::new(Flood(endless).boxed()),
        _ => {
            let header = |name: &str| {
                request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
            };
            let whole = request.uri().path_and_query().unwrap();
            let said = format!(
                "{name} {} {whole} host={} for={} proto={}",
                request.method(),
                header("host"),
                header("x-forwarded-for"),
                header("x-forwarded-proto"),
            );
            Response::new(Full::new(Bytes::from(said)).boxed())
        }
    }
}

/// A body without an end, that counts what is taken of it.
struct Flood(Arc<Endless>);

impl Body for Flood {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.sent.fetch_add(1 << 16, Ordering::SeqCst);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![1; 1 << 16])))))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

/// A client that keeps its connection.
pub(crate) struct Client(SendRequest<Empty<Bytes>>);

impl Client {
    pub(crate) async fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn get(&mut self, host: &str, path: &str) -> (u16, String) {
        let request = Request::get(path).header("host", host).body(Empty::new()).unwrap();
        self.0.ready().await.unwrap();
        let answer = self.0.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }
}

/// One request on a connection of its own: status and text.
pub(crate) async fn get(to: SocketAddr, host: &str, path: &str) -> (u16, String) {
    Client::open(to).await.get(host, path).await
}

/// Reads up to the end of a head.
pub(crate) async fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).await.unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().to_ascii_lowercase().replacen("http/1.1", "HTTP/1.1", 1)
}

pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "still untrue: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
