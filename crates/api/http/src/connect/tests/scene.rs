//! A server with one node, which is played, and a pod on it. Clients come over TLS, with a token.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kedge_clock::Clock;
use kedge_pki::{Authority, Leaf, Names, Purpose, Serving};
use kedge_registry::Registry;
use kedge_store::Store;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::node::Node;
use crate::tests::{Got, call, user};
use crate::{NodeClient, Options, Router, Tls, router, serve};

const LONG: Duration = Duration::from_secs(20);

pub(crate) struct Scene {
    pub(crate) admin: Router,
    pub(crate) node: Node,
    address: SocketAddr,
    ca: String,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let authority = Arc::new(Authority::open(folder.path(), "ca", &clock).unwrap());
        let options = kedge_registry::Options {
            namespace_worker: false,
            measures: true,
            ..kedge_registry::Options::default()
        };
        let registry = Registry::start(Store::memory(), clock.clone(), options).await.unwrap();
        let mut options = Options::new(kedge_pki::new_key().unwrap());
        options.node_client = Some(Arc::new(NodeClient::new(folder.path(), authority.clone())));
        options.static_tokens.insert("secret".to_owned(), user("root", &["system:masters"]));
        let stranger = router(registry, options).unwrap();
        let names = Names {
            common_name: "server".to_owned(),
            organization: None,
            hosts: vec!["localhost".to_owned()],
        };
        let leaf = Leaf::new(folder.path(), "server", names, Purpose::Server);
        let certificate = Serving::start(leaf, &authority, clock.now()).unwrap();
        let tls = Tls::new(certificate, authority.clients().unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let serving = tokio::spawn(serve(listener, tls, stranger.clone(), stopped));
        let scene = Self {
            admin: stranger.acting_as(user("admin", &["system:masters"])),
            node: Node::start(&authority).await,
            address,
            ca: authority.pem().to_owned(),
            stop,
            serving,
            _folder: folder,
        };
        scene.fill().await;
        scene
    }

    async fn fill(&self) {
        self.make("/api/v1/nodes", json!({"metadata": {"name": "n1", "labels": {"zone": "a"}}})).await;
        self.node_listens_at(self.node.port).await;
        self.make("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": "default"}}))
            .await;
        for (name, node, containers) in
            [("web", Some("n1"), &["a", "b"][..]), ("lost", Some("gone"), &["a"]), ("waiting", None, &["a"])]
        {
            let container = |name: &&str| json!({"name": name, "image": "x"});
            let mut spec = json!({"containers": containers.iter().map(container).collect::<Vec<_>>()});
            if let Some(node) = node {
                spec["nodeName"] = node.into();
            }
            if name == "web" {
                spec["initContainers"] = json!([{"name": "first", "image": "x"}]);
            }
            let pod = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
            self.make("/api/v1/namespaces/default/pods", pod).await;
        }
    }

    pub(crate) async fn make(&self, path: &str, object: Value) {
        let got = call(&self.admin, "POST", path, object.to_string()).await;
        assert_eq!(got.code, 201, "{}", got.text());
    }

    /// Where the node says that it is.
    pub(crate) async fn node_listens_at(&self, port: u16) {
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": "n1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }});
        let got = call(&self.admin, "PATCH", "/api/v1/nodes/n1/status", status.to_string()).await;
        assert_eq!(got.code, 200, "{}", got.text());
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        call(&self.admin, "GET", path, "").await
    }

    /// A client's connection, of HTTP/1.1.
    pub(crate) async fn connect(&self) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.ca.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    /// The head of a request, with further lines.
    pub(crate) fn head(&self, method: &str, path: &str, more: &str) -> String {
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n{more}\r\n")
    }

    /// Ends the server and waits until it has ended.
    pub(crate) async fn stop(&self) {
        self.stop.send_replace(true);
        self.node.until("the server has ended", || self.serving.is_finished()).await;
    }
}

/// Reads until the text has come, and gives all that was read.
pub(crate) async fn until_heard(stream: &mut (impl AsyncReadExt + Unpin), text: &str) -> String {
    let mut heard = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&heard).contains(text) {
            let mut piece = [0; 4096];
            let read = stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "it ended before {text:?}: {}", String::from_utf8_lossy(&heard));
            heard.extend_from_slice(&piece[..read]);
        }
    };
    let in_time = tokio::time::timeout(LONG, reading).await;
    let heard = String::from_utf8_lossy(&heard).into_owned();
    assert!(in_time.is_ok(), "{text:?} never came: {heard}");
    heard
}
