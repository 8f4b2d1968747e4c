use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;
use http_body_util::BodyExt;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kedge_clock::Clock;
use kedge_pki::{Authority, Names, Purpose};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

const HOST: &str = "hook.shop.svc";
const SOON: Duration = Duration::from_secs(10);

/// A server that tells what it was asked.
struct Hook {
    at: SocketAddr,
    ca: Bytes,
    connections: Arc<AtomicUsize>,
}

impl Hook {
    async fn start(alpn: &[&str], hosts: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let authority = Authority::open(folder.path(), "hooks", &clock).unwrap();
        let names = Names {
            common_name: "hook".to_owned(),
            organization: None,
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        };
        let issued = authority.issue(&names, Purpose::Server, clock.now()).unwrap();
        Self::showing(&issued.certificate, &issued.key, authority.pem().to_owned(), alpn).await
    }

    async fn showing(certificate: &str, key: &str, ca: String, alpn: &[&str]) -> Self {
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                        .serve_connection_with_upgrades(TokioIo::new(stream), service_fn(answer))
                        .await;
                });
            }
        });
        Self { at, ca: Bytes::from(ca), connections }
    }

    fn service(&self, path: &str) -> Target {
        let place = Place::Service {
            namespace: "shop".to_owned(),
            name: "hook".to_owned(),
            port: 443,
            path: path.to_owned(),
        };
        Target { place, ..Target::url_of("", Some(self.ca.clone())) }
    }

    fn url(&self, path: &str) -> Target {
        Target::url_of(format!("https://localhost:{}{path}", self.at.port()), Some(self.ca.clone()))
    }

    fn reach(&self) -> Reach {
        Reach::new(Arc::new(Fixed(Ok(Door::Address(self.at)))))
    }
}

async fn answer(mut request: Request<Incoming>) -> Result<Response<Full<Bytes>>, std::convert::Infallible> {
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    if path.contains("/never") {
        std::future::pending::<()>().await;
    }
    if request.headers().contains_key(UPGRADE) {
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut stream = TokioIo::new(upgrade.await.unwrap());
            let mut heard = [0; 4];
            stream.read_exact(&mut heard).await.unwrap();
            heard.reverse();
            stream.write_all(&heard).await.unwrap();
        });
        let answer =
            Response::builder().status(101).header("connection", "upgrade").header("upgrade", "echo");
        return Ok(answer.body(Full::default()).unwrap());
    }
    let host = request.headers().get("host").map(|host| host.to_str().unwrap().to_owned());
    let host = host.or_else(|| request.uri().host().map(str::to_owned)).unwrap_or_default();
    let version = request.version();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let text = format!("{version:?} {host} {path} {}", String::from_utf8_lossy(&body));
    Ok(Response::new(Full::from(text)))
}

#[derive(Debug)]
struct Fixed(Result<Door, ResolveError>);

impl Resolve for Fixed {
    fn resolve(&self, _: &str, _: &str, _: u16) -> Result<Door, ResolveError> {
        self.0.clone()
    }
}

fn post(path: &str) -> Request<Full<Bytes>> {
    Request::post(path).body(Full::from("hello")).unwrap()
}

#[tokio::test]
async fn asks_the_right_path_of_the_right_host() {
    let hook = Hook::start(&["http/1.1"], &[HOST, "localhost"]).await;
    let reach = hook.reach();
    let port = hook.at.port();
    for (target, asked, answered) in [
        (hook.service(""), "/", "HTTP/1.1 hook.shop.svc:443 / hello".to_owned()),
        (
            hook.service("/admit"),
            "/?timeout=2s",
            "HTTP/1.1 hook.shop.svc:443 /admit?timeout=2s hello".to_owned(),
        ),
        (hook.service("admit/it"), "/more", "HTTP/1.1 hook.shop.svc:443 /admit/it/more hello".to_owned()),
        (hook.url("/a"), "/?b=c", format!("HTTP/1.1 localhost:{port} /a?b=c hello")),
        (hook.url(""), "/apis/x", format!("HTTP/1.1 localhost:{port} /apis/x hello")),
    ] {
        let response = reach.send(&target, post(asked), SOON).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(String::from_utf8_lossy(response.body()), answered);
    }
}

#[tokio::test]
async fn keeps_its_connections() {
    let hook = Hook::start(&["h2", "http/1.1"], &[HOST]).await;
    let reach = hook.reach();
    for _ in 0..5 {
        reach.send(&hook.service(""), post("/"), SOON).await.unwrap();
    }
    assert_eq!(hook.connections.load(Ordering::SeqCst), 1);
    for _ in 0..5 {
        let body: Body = Full::<Bytes>::default().map_err(|never| match never {}).boxed_unsync();
        let response = reach.open(&hook.service(""), Request::get("/").body(body).unwrap()).await.unwrap();
        response.into_body().collect().await.unwrap();
    }
    assert_eq!(hook.connections.load(Ordering::SeqCst), 2, "one more for what is read as it comes");
}

#[tokio::test]
async fn exchanges_at_the_same_time_have_connections_of_their_own() {
    let hook = Hook::start(&["h2", "http/1.1"], &[HOST]).await;
    let (reach, target) = (hook.reach(), hook.service(""));
    for _ in 0..3 {
        let (one, other) =
            tokio::join!(reach.send(&target, post("/a"), SOON), reach.send(&target, post("/b"), SOON));
        for (answered, path) in [(one, "/a"), (other, "/b")] {
            let wanted = format!("HTTP/1.1 hook.shop.svc:443 {path} hello");
            assert_eq!(String::from_utf8_lossy(answered.unwrap().body()), wanted);
        }
    }
    assert_eq!(hook.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_was_given_up_leaves_no_half_of_an_answer() {
    let hook = Hook::start(&["http/1.1"], &[HOST]).await;
    let (reach, target) = (hook.reach(), hook.service(""));
    reach.send(&target, post("/"), SOON).await.unwrap();
    let error = reach.send(&target, post("/never"), Duration::from_millis(50)).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    let answered = reach.send(&target, post("/again"), SOON).await.unwrap();
    assert!(answered.body().ends_with(b"/again hello"), "{:?}", answered.body());
    assert_eq!(hook.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_no_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (closed, mut closing) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        // Says how to go on with the connection, and does otherwise.
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut heard = Vec::new();
            while !heard.ends_with(b"hello") {
                stream.read_buf(&mut heard).await.unwrap();
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            drop(stream);
            closed.send(()).unwrap();
        }
    });
    let reach = Reach::new(Arc::new(Fixed(Err(ResolveError::Missing { name: "nobody".to_owned() }))));
    for _ in 0..3 {
        let answered = reach.send(&address("127.0.0.1", port, false, None), post("/"), SOON).await.unwrap();
        assert_eq!(&answered.body()[..], b"ok");
        closing.recv().await.unwrap();
        // The runtime hears of it before it comes back here.
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for said in ["HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nhalf", ""] {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            while !heard.ends_with(b"hello") {
                stream.read_buf(&mut heard).await.unwrap();
            }
            stream.write_all(said.as_bytes()).await.unwrap();
        }
    });
    let reach = Reach::new(Arc::new(Fixed(Err(ResolveError::Missing { name: "nobody".to_owned() }))));
    for case in ["in the middle", "before the first word"] {
        let error = reach.send(&address("127.0.0.1", port, false, None), post("/"), SOON).await.unwrap_err();
        assert!(matches!(error.cause, Cause::Broken { .. }), "{case}: {error}");
    }
}

#[tokio::test]
async fn says_why_in_words_that_are_known() {
    let hook = Hook::start(&["http/1.1"], &[HOST]).await;
    let other = Hook::start(&["http/1.1"], &["other.host"]).await;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let missing = ResolveError::Missing { name: "hook".to_owned() };
    let bad_bundle = Target { ca_bundle: Some(Bytes::from("nothing")), ..hook.service("") };
    let plain = Target::url_of("http://localhost:1/", None);
    for (case, door, target, cause) in [
        (
            "refused",
            Ok(Door::Address(closed)),
            hook.service(""),
            format!("dial tcp {closed}: connect: connection refused"),
        ),
        ("no service", Err(missing), hook.service(""), "service \"hook\" not found".to_owned()),
        (
            "another authority",
            Ok(Door::Address(hook.at)),
            other.service(""),
            "tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned(),
        ),
        (
            "another name",
            Ok(Door::Address(other.at)),
            other.service(""),
            "tls: failed to verify certificate: x509: certificate is valid for other.host, not hook.shop.svc"
                .to_owned(),
        ),
        ("slow", Ok(Door::Address(hook.at)), hook.service("/never"), "context deadline exceeded".to_owned()),
        (
            "no bundle",
            Ok(Door::Address(hook.at)),
            bad_bundle,
            "unable to use the CA bundle: unable to load root certificates".to_owned(),
        ),
        ("no TLS", Ok(Door::Address(hook.at)), plain, "invalid url \"http://localhost:1/\"".to_owned()),
    ] {
        let reach = Reach::new(Arc::new(Fixed(door)));
        let wait = if case == "slow" { Duration::from_millis(50) } else { SOON };
        let url = target.url(&"/?timeout=1s".parse().unwrap());
        let error = reach.send(&target, post("/?timeout=1s"), wait).await.unwrap_err();
        assert_eq!(error.to_string(), format!("Post {url:?}: {cause}"), "{case}");
        assert_eq!(error.is_timeout(), case == "slow", "{case}");
    }
}

#[tokio::test]
async fn trusts_anyone_if_told_to() {
    let hook = Hook::start(&["h2", "http/1.1"], &["somebody.else"]).await;
    let target = Target { insecure_skip_verify: true, ca_bundle: None, ..hook.service("") };
    assert_eq!(hook.reach().send(&target, post("/"), SOON).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn hands_a_connection_over() {
    let hook = Hook::start(&["h2", "http/1.1"], &[HOST]).await;
    let request = Request::get("/exec").header("connection", "upgrade").header("upgrade", "echo");
    let body: Body = Full::<Bytes>::default().map_err(|never| match never {}).boxed_unsync();
    let mut response = hook.reach().open(&hook.service(""), request.body(body).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut stream = TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
    stream.write_all(b"abcd").await.unwrap();
    let mut heard = [0; 4];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"dcba");
}

#[tokio::test]
async fn takes_a_certificate_that_signed_itself() {
    for (host, fine) in [(HOST, true), ("other.host", false)] {
        let mut params = rcgen::CertificateParams::new(vec![host.to_owned()]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let issued = params.self_signed(&key).unwrap();
        let hook =
            Hook::showing(&issued.pem(), &key.serialize_pem(), issued.pem(), &["h2", "http/1.1"]).await;
        let answered = hook.reach().send(&hook.service(""), post("/"), SOON).await;
        assert_eq!(answered.is_ok(), fine, "{host}: {answered:?}");
    }
}

fn address(host: &str, port: u16, secure: bool, ca_bundle: Option<Bytes>) -> Target {
    let place = Place::Address { host: host.to_owned(), port, secure, name: None };
    Target { place, ..Target::url_of("", ca_bundle) }
}

#[tokio::test]
async fn an_address_is_reached_in_the_clear_or_by_its_certificate() {
    let hook = Hook::start(&["h2", "http/1.1"], &["127.0.0.1"]).await;
    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain_port = plain.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (stream, _) = plain.accept().await.unwrap();
        let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
        let _ = server.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
    });
    // Each exchange is to have its connection for itself, so the old version is spoken even to whom speaks the new one.
    for (port, secure) in [(hook.at.port(), true), (plain_port, false)] {
        let target = address("127.0.0.1", port, secure, Some(hook.ca.clone()));
        let response = hook.reach().send(&target, post("/a?b"), SOON).await.unwrap();
        let wanted = format!("HTTP/1.1 127.0.0.1:{port} /a?b hello");
        assert_eq!(String::from_utf8_lossy(response.body()), wanted);
    }
    let other = address("localhost", hook.at.port(), true, Some(hook.ca.clone()));
    assert!(
        hook.reach().send(&other, post("/"), SOON).await.is_err(),
        "its certificate names its address only"
    );
    let url = address("fd00::1", 80, false, None).url(&"/x".parse().unwrap());
    assert_eq!(url, "http://[fd00::1]:80/x");
}
