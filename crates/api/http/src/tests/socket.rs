//! The API on a real socket: both versions of HTTP, certificates good and bad, clients that misbehave.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kedge_pki::{Authority, Issued, Leaf, Names, Purpose, Serving};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::Server;
use crate::{Tls, serve};

pub(super) struct Up {
    pub(super) server: Server,
    address: SocketAddr,
    authority: Authority,
    folder: tempfile::TempDir,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

fn names(name: &str, group: Option<&str>, hosts: &[&str]) -> Names {
    Names {
        common_name: name.to_owned(),
        organization: group.map(str::to_owned),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
    }
}

impl Up {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(super) async fn with(change: impl FnOnce(&mut crate::Options)) -> Self {
        let server = Server::with(change).await;
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path(), "ca", &server.clock).unwrap();
        let leaf = Leaf::new(folder.path(), "server", names("server", None, &["localhost"]), Purpose::Server);
        let certificate = Serving::start(leaf, &authority, server.clock.now()).unwrap();
        let tls = Tls::new(certificate, authority.clients().unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(serve(listener, tls, server.stranger.clone(), stopped));
        Self { server, address, authority, folder, stop, serving }
    }

    /// A certificate of somebody who may do everything.
    pub(super) fn admin(&self) -> Issued {
        let now = self.server.clock.now();
        self.authority.issue(&names("admin", Some("system:masters"), &[]), Purpose::Client, now).unwrap()
    }

    pub(super) async fn connect(
        &self,
        certificate: Option<&Issued>,
        protocol: &[u8],
    ) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        // The server's certificate is as old as the clock turned by hand; that is not what is tested here.
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Anything));
        let mut config = match certificate {
            None => builder.with_no_client_auth(),
            Some(issued) => builder
                .with_client_auth_cert(
                    vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap()],
                    PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap(),
                )
                .unwrap(),
        };
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    async fn get(&self, certificate: Option<&Issued>, protocol: &[u8], path: &str) -> (u16, String) {
        let stream = TokioIo::new(self.connect(certificate, protocol).await);
        let request = Request::get(format!("https://localhost{path}")).body(Empty::<Bytes>::new()).unwrap();
        let answer = if protocol == b"h2" {
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        } else {
            let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
            tokio::spawn(connection);
            sender.send_request(request).await.unwrap()
        };
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    }
}

#[derive(Debug)]
struct Anything;

impl rustls::client::danger::ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

#[tokio::test]
async fn certificates_decide_who_one_is() {
    let up = Up::start().await;
    let now = up.server.clock.now();
    let issue = |authority: &Authority, now| {
        authority.issue(&names("root", Some("system:masters"), &[]), Purpose::Client, now).unwrap()
    };
    let admin = issue(&up.authority, now);
    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = issue(&Authority::open(elsewhere.path(), "ca", &up.server.clock).unwrap(), now);
    let expired = issue(&up.authority, now.checked_sub(jiff::SignedDuration::from_hours(24 * 400)).unwrap());
    for protocol in [&b"h2"[..], b"http/1.1"] {
        for (case, certificate, path, code) in [
            ("an administrator", Some(&admin), "/api/v1/nodes", 200),
            ("nobody", None, "/api/v1/nodes", 403),
            ("nobody looks at the health", None, "/readyz", 200),
            ("a foreign certificate", Some(&foreign), "/readyz", 401),
            ("an expired certificate", Some(&expired), "/readyz", 401),
        ] {
            let (found, body) = up.get(certificate, protocol, path).await;
            assert_eq!(found, code, "{case}: {body}");
            assert!(code == 200 || body.contains("\"kind\":\"Status\""), "{case}: {body}");
        }
    }
    drop(up.folder);
}

#[tokio::test]
async fn misbehaving_clients_hurt_nobody_else() {
    let up = Up::start().await;
    // Rubbish instead of a handshake.
    let mut rubbish = TcpStream::connect(up.address).await.unwrap();
    rubbish.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    // Half a head and then nothing; half a body and then the end.
    let mut slow = up.connect(None, b"http/1.1").await;
    slow.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nX-A: ").await.unwrap();
    let mut half = up.connect(None, b"http/1.1").await;
    half.write_all(
        b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
    )
    .await
    .unwrap();
    half.shutdown().await.unwrap();
    // Rubbish inside a good handshake.
    let mut words = up.connect(None, b"http/1.1").await;
    words.write_all(b"\x00\x01\x02 hello\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    let _end = words.read_to_end(&mut said).await;
    assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&said));
    let mut frames = up.connect(None, b"h2").await;
    frames
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
        .await
        .unwrap();

    assert_eq!(up.get(None, b"http/1.1", "/readyz").await, (200, "ok".to_owned()));
    assert_eq!(up.get(None, b"h2", "/readyz").await, (200, "ok".to_owned()));
    drop((slow, half, rubbish, frames));
}

#[tokio::test]
async fn a_stop_lets_connections_finish() {
    let up = Up::start().await;
    let admin = up
        .authority
        .issue(&names("root", Some("system:masters"), &[]), Purpose::Client, up.server.clock.now())
        .unwrap();
    let stream = TokioIo::new(up.connect(Some(&admin), b"h2").await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("https://localhost/api/v1/pods?watch=1").body(Empty::<Bytes>::new()).unwrap();
    let watch = sender.send_request(request).await.unwrap();
    assert_eq!(watch.status(), 200);
    let body = tokio::spawn(async move { watch.into_body().collect().await.is_ok() });
    up.stop.send_replace(true);
    assert!(body.await.unwrap(), "the watch ended in order");
    drop(sender);
    tokio::time::timeout(Duration::from_secs(5), up.serving).await.expect("the server was still up").unwrap();
    assert!(TcpStream::connect(up.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_stop_waits_for_nobody_who_has_not_begun() {
    let up = Up::start().await;
    // It never says hello.
    let silent = TcpStream::connect(up.address).await.unwrap();
    assert_eq!(up.get(None, b"http/1.1", "/readyz").await.0, 200, "the silent one was accepted before");
    up.stop.send_replace(true);
    tokio::time::timeout(Duration::from_secs(5), up.serving).await.expect("the server was still up").unwrap();
    drop(silent);
}

#[tokio::test]
async fn a_full_server_hears_a_stop() {
    let up = Up::with(|options| options.max_connections = 1).await;
    let only = up.connect(None, b"http/1.1").await;
    up.stop.send_replace(true);
    tokio::time::timeout(Duration::from_secs(5), up.serving).await.expect("the server was still up").unwrap();
    drop(only);
}

#[tokio::test]
async fn one_address_leaves_room_for_others() {
    let up = Up::with(|options| options.max_connections = 8).await;
    let mut held = Vec::new();
    for _ in 0..6 {
        held.push(up.connect(None, b"h2").await);
    }
    let mut seventh = TcpStream::connect(up.address).await.unwrap();
    assert_eq!(seventh.read(&mut [0; 1]).await.unwrap_or(0), 0, "it is closed");
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = socket.connect(up.address).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_millis(200), other.read(&mut [0; 1])).await;
    assert!(heard.is_err(), "the server waits for it to speak");
    held.pop();
    for _ in 0..1000 {
        let mut again = TcpStream::connect(up.address).await.unwrap();
        if tokio::time::timeout(Duration::from_millis(50), again.read(&mut [0; 1])).await.is_err() {
            return;
        }
    }
    panic!("still untrue: who has left makes room");
}

#[tokio::test]
async fn small_requests_pass_by_huge_lists_on_one_connection() {
    const LISTS: usize = 10;
    let up = Up::start().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let value = "x".repeat(100_000);
    for number in 0..200 {
        let map = serde_json::json!({"metadata": {"name": format!("m{number}")}, "data": {"value": value}});
        let made = super::call(&up.server.admin, "POST", maps, map.to_string()).await;
        assert_eq!(made.code, 201, "{}", made.text());
    }
    let admin = up.admin();
    let stream = TokioIo::new(up.connect(Some(&admin), b"h2").await);
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    let get = |path: String| {
        let request = Request::get(format!("https://localhost{path}")).body(Full::default()).unwrap();
        let mut sender = sender.clone();
        async move { sender.send_request(request).await.unwrap() }
    };
    let received = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = || received.load(std::sync::atomic::Ordering::Relaxed);
    let mut lists = tokio::task::JoinSet::new();
    for _ in 0..LISTS {
        let (list, received) = (get(maps.to_owned()), received.clone());
        lists.spawn(async move {
            let mut body = list.await.into_body();
            while let Some(frame) = body.frame().await {
                let length = frame.unwrap().data_ref().map_or(0, Bytes::len);
                received.fetch_add(length, std::sync::atomic::Ordering::Relaxed);
            }
        });
    }
    for _ in 0..1000 {
        if seen() > 1_000_000 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut worst = [0, 0];
    for number in 0..10 {
        let before = seen();
        let answer = get(format!("{maps}/m{number}?fieldManager=x")).await;
        assert_eq!(answer.status(), 200);
        answer.into_body().collect().await.unwrap();
        worst[0] = worst[0].max(seen() - before);

        let before = seen();
        let map = serde_json::json!({"metadata": {"name": format!("small-{number}")}});
        let request =
            Request::post(format!("https://localhost{maps}")).header("content-type", "application/json");
        let request = request.body(Full::new(Bytes::from(map.to_string()))).unwrap();
        let answer = sender.clone().send_request(request).await.unwrap();
        assert_eq!(answer.status(), 201);
        answer.into_body().collect().await.unwrap();
        worst[1] = worst[1].max(seen() - before);
    }
    assert!(
        !lists.is_empty() && seen() < LISTS * 20_000_000,
        "the lists were still on their way: {}",
        seen()
    );
    assert!(
        worst.iter().all(|bytes| *bytes < 16_000_000),
        "{worst:?} bytes of lists passed by a small read, a small write"
    );
    lists.abort_all();
}
