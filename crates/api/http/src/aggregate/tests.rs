//! An extension server behind an APIService: found, checked, asked, listed; and what is said when it is gone.

use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kedge_clock::Clock;
use kedge_pki::{Authority, Names, Purpose};
use kedge_registry::Registry;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::*;
use crate::tests::{Got, call, request, send, user};
use crate::{Options, Router, router};

const GROUP: &str = "wardle.example.com";

/// A server that believes only our front proxy, and tells what it heard.
struct Extension {
    port: u16,
    ca: String,
}

impl Extension {
    async fn start(front_proxy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let authority = Authority::open(folder.path(), "extension", &clock).unwrap();
        let hosts = vec!["wardle.shop.svc".to_owned()];
        let names = Names { common_name: "wardle".to_owned(), organization: None, hosts };
        let issued = authority.issue(&names, Purpose::Server, clock.now()).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(front_proxy.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service_fn(answer))
                        .await;
                });
            }
        });
        Self { port, ca: authority.pem().to_owned() }
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let path = request.uri().path().to_owned();
    let document = match path.as_str() {
        "/apis/wardle.example.com/v1alpha1" => json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "wardle.example.com/v1alpha1",
            "resources": [
                {"name": "flunders", "singularName": "flunder", "namespaced": true, "kind": "Flunder", "verbs": ["get", "list"]},
                {"name": "flunders/status", "singularName": "", "namespaced": true, "kind": "Flunder", "verbs": ["get"]},
            ],
        }),
        "/openapi/v3" => json!({
            "paths": {"apis/wardle.example.com/v1alpha1": {"serverRelativeURL": "/openapi/v3/apis/wardle.example.com/v1alpha1?hash=1"}},
        }),
        "/apis" => json!({"kind": "APIGroupList"}),
        _ if request.uri().query() == Some("watch=1") => {
            // The second piece comes only after whoever watches has had the first.
            let pieces = futures::stream::iter(["one", "two"])
                .map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes()))));
            let never = futures::stream::pending();
            return Ok(Response::new(BodyExt::boxed(StreamBody::new(pieces.chain(never)))));
        }
        _ => {
            let header = |name: &str| {
                let all = request.headers().get_all(name).iter();
                all.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            let names =
                ["x-remote-user", "x-remote-group", "x-remote-extra-scopes", "authorization", "accept"];
            let heard: serde_json::Map<String, Value> =
                names.iter().map(|name| ((*name).to_owned(), header(name).into())).collect();
            let (method, query) = (request.method().to_string(), request.uri().query().map(str::to_owned));
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8_lossy(&body).into_owned();
            json!({"method": method, "path": path, "query": query, "heard": heard, "body": body})
        }
    };
    Ok(Response::new(Full::from(document.to_string()).boxed()))
}

struct World {
    admin: Router,
    anna: Router,
    stranger: Router,
    _folder: tempfile::TempDir,
    front_proxy: Arc<FrontProxy>,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let front_proxy = Arc::new(FrontProxy::open(folder.path(), &clock).unwrap());
        let options =
            kedge_registry::Options { namespace_worker: false, ..kedge_registry::Options::default() };
        let registry = Registry::start(Store::memory(), clock, options).await.unwrap();
        let mut options = Options::new(kedge_pki::new_key().unwrap());
        options.front_proxy = Some(front_proxy.clone());
        let stranger = router(registry, options).unwrap();
        tokio::spawn(tend(stranger.api().clone(), "CLIENTS".to_owned()));
        let mut anna = user("anna", &["system:masters", "shops"]);
        anna.extra.insert("scopes".to_owned(), vec!["all".to_owned()]);
        Self {
            admin: stranger.acting_as(user("admin", &["system:masters"])),
            anna: stranger.acting_as(anna),
            stranger,
            _folder: folder,
            front_proxy,
        }
    }

    async fn register(&self, extension: &Extension) {
        let post = |path: &'static str, object: Value| async move {
            let got = call(&self.admin, "POST", path, object.to_string()).await;
            assert_eq!(got.code, 201, "{}", got.text());
        };
        post(
            "/api/v1/namespaces",
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
        )
        .await;
        let spec = json!({"type": "ExternalName", "externalName": "localhost"});
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "wardle"}, "spec": spec});
        post("/api/v1/namespaces/shop/services", service).await;
        let service = json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": format!("v1alpha1.{GROUP}")},
            "spec": {
                "group": GROUP, "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 200,
                "caBundle": STANDARD.encode(&extension.ca),
                "service": {"namespace": "shop", "name": "wardle", "port": extension.port},
            },
        });
        post("/apis/apiregistration.k8s.io/v1/apiservices", service).await;
    }

    async fn get(&self, path: &str) -> Got {
        call(&self.admin, "GET", path, "").await
    }

    /// Waits until an APIService's condition is this: `True Passed: all checks passed`.
    async fn until(&self, name: &str, wanted: &str) {
        let mut seen = String::new();
        for _ in 0..500 {
            let object = self.get(&format!("/apis/apiregistration.k8s.io/v1/apiservices/{name}")).await;
            if object.code == 200 {
                let condition = &object.json()["status"]["conditions"][0];
                let part = |field: &str| condition[field].as_str().unwrap_or("-").to_owned();
                seen = format!("{} {}: {}", part("status"), part("reason"), part("message"));
                if seen == wanted {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{name} is {seen:?}, not {wanted:?}");
    }
}

#[tokio::test]
async fn an_extension_server_answers_for_its_group() {
    let world = World::start().await;
    let extension = Extension::start(world.front_proxy.pem()).await;
    world.register(&extension).await;
    world.until("v1alpha1.wardle.example.com", "True Passed: all checks passed").await;

    let path = "/apis/wardle.example.com/v1alpha1/namespaces/shop/flunders";
    let headers = [
        ("authorization", "Bearer secret"),
        ("x-remote-user", "somebody else"),
        ("accept", "application/json"),
        ("content-type", "application/json"),
    ];
    let got = send(&world.anna, request("POST", &format!("{path}?dryRun=All"), &headers, "hello")).await;
    assert_eq!(got.code, 200, "{}", got.text());
    assert_eq!(
        got.json(),
        json!({
            "method": "POST", "path": path, "query": "dryRun=All", "body": "hello",
            "heard": {
                "x-remote-user": ["anna"], "x-remote-group": ["system:masters", "shops"],
                "x-remote-extra-scopes": ["all"], "authorization": [], "accept": ["application/json"],
            },
        })
    );
    // Who may not, doesn't get there.
    let got = call(&world.stranger, "GET", path, "").await;
    assert_eq!(got.code, 403, "{}", got.text());

    // A watch comes piece by piece and has no end.
    let watch = request("GET", &format!("{path}?watch=1"), &[], "");
    let mut body = world.anna.clone().oneshot(watch).await.unwrap().into_body();
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let frame = body.frame().await.unwrap().unwrap();
        seen.extend_from_slice(frame.data_ref().unwrap());
    }
    assert_eq!(seen, b"onetwo");
}

#[tokio::test]
async fn what_an_extension_server_offers_is_listed_among_ours() {
    let world = World::start().await;
    let extension = Extension::start(world.front_proxy.pem()).await;
    world.register(&extension).await;
    world.until("v1alpha1.wardle.example.com", "True Passed: all checks passed").await;

    let list = world.get("/apis").await.json();
    let names: Vec<&str> =
        list["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names.last(), Some(&GROUP), "{names:?}");
    assert!(names.contains(&"apps"));
    let group = world.get("/apis/wardle.example.com").await.json();
    assert_eq!(group["preferredVersion"]["groupVersion"], "wardle.example.com/v1alpha1");
    assert_eq!(group["kind"], "APIGroup");
    let resources = world.get("/apis/wardle.example.com/v1alpha1").await.json();
    assert_eq!(resources["resources"][0]["name"], "flunders");

    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for _ in 0..200 {
        let list = send(&world.admin, request("GET", "/apis", &[("accept", accept)], "")).await.json();
        let ours = list["items"].as_array().unwrap().iter().find(|group| group["metadata"]["name"] == GROUP);
        let version = &ours.unwrap()["versions"][0];
        if version["freshness"] == "Current" {
            assert_eq!(version["version"], "v1alpha1");
            assert_eq!(version["resources"][0]["resource"], "flunders");
            assert_eq!(version["resources"][0]["subresources"][0]["subresource"], "status");
            let index = world.get("/openapi/v3").await.json();
            let place = &index["paths"]["apis/wardle.example.com/v1alpha1"]["serverRelativeURL"];
            assert_eq!(place, "/openapi/v3/apis/wardle.example.com/v1alpha1?hash=1");
            assert!(index["paths"]["apis/apps/v1"].is_object());
            let schema = world.get("/openapi/v3/apis/wardle.example.com/v1alpha1?hash=1").await.json();
            assert_eq!(schema["path"], "/openapi/v3/apis/wardle.example.com/v1alpha1");
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("what the extension server offers is still not known");
}

#[tokio::test]
async fn a_server_that_is_gone_is_said_to_be() {
    let world = World::start().await;
    let extension = Extension::start(world.front_proxy.pem()).await;
    world.register(&extension).await;
    world.until("v1alpha1.wardle.example.com", "True Passed: all checks passed").await;
    call(&world.admin, "DELETE", "/api/v1/namespaces/shop/services/wardle", "").await;
    let gone = "False ServiceNotFound: service/wardle in \"shop\" is not present";
    world.until("v1alpha1.wardle.example.com", gone).await;
    let got = world.get("/apis/wardle.example.com/v1alpha1/namespaces/shop/flunders").await;
    assert_eq!((got.code, got.text().as_str()), (503, "service unavailable\n"));
    // Without its APIService there is no such group.
    let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.wardle.example.com";
    assert_eq!(call(&world.admin, "DELETE", path, "").await.code, 200);
    assert_eq!(world.get("/apis/wardle.example.com/v1alpha1").await.code, 404);
    assert_eq!(world.get("/apis/wardle.example.com").await.code, 404);
}

#[tokio::test]
async fn our_own_groups_have_their_services() {
    let world = World::start().await;
    let local = "True Local: Local APIServices are always available";
    for name in ["v1.", "v1.apps", "v2.autoscaling", "v1.flowcontrol.apiserver.k8s.io"] {
        world.until(name, local).await;
    }
    let apps = world.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps").await.json();
    assert_eq!(
        apps["spec"],
        json!({"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15})
    );
    assert_eq!(apps["metadata"]["labels"][local::LABEL], "onstart");
    let map = world.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication").await;
    let data = &map.json()["data"];
    assert_eq!(data["client-ca-file"], "CLIENTS");
    assert_eq!(data["requestheader-client-ca-file"], world.front_proxy.pem());
    assert_eq!(data["requestheader-allowed-names"], r#"["front-proxy-client"]"#);
}
