//! A registry with its gates, and a webhook server that answers as it is told: for this crate's tests.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_kinds::Status;
use kedge_pki::{Authority, Names, Purpose};
use kedge_reach::Reach;
use kedge_registry::gate::Remarks;
use kedge_registry::{At, DeleteOptions, Doors, Options, Registry, User, WriteOptions};
use kedge_store::Store;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::{Policies, Webhooks};

type Script = dyn Fn(Value) -> futures::future::BoxFuture<'static, (u16, String)> + Send + Sync;

/// A webhook server: each path answers as its script says, and everything that it was asked is kept.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) ca: String,
    scripts: Arc<Mutex<HashMap<String, Arc<Script>>>>,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let authority = Authority::open(folder.path(), "hooks", &clock).unwrap();
        let names = Names {
            common_name: "hook".to_owned(),
            organization: None,
            hosts: vec!["localhost".to_owned(), "hook.shop.svc".to_owned()],
        };
        let issued = authority.issue(&names, Purpose::Server, clock.now()).unwrap();
        let chain = vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            ca: authority.pem().to_owned(),
            scripts: Arc::default(),
            asked: Arc::default(),
        };
        tokio::spawn(server.clone().serve(listener, TlsAcceptor::from(Arc::new(config))));
        server
    }

    async fn serve(self, listener: TcpListener, acceptor: TlsAcceptor) {
        while let Ok((stream, _)) = listener.accept().await {
            let (server, acceptor) = (self.clone(), acceptor.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(move |request| server.clone().answer(request));
                let _ = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let review: Value = serde_json::from_slice(&body).unwrap();
        self.asked.lock().push((path.clone(), review.clone()));
        let script = self.scripts.lock().get(&path).cloned();
        let (code, body) = match script {
            Some(script) => script(review).await,
            None => (404, "no such hook".to_owned()),
        };
        Ok(Response::builder().status(code).body(Full::from(body)).unwrap())
    }

    /// What a path answers from now on, whole.
    pub(crate) fn raw<F>(&self, path: &str, script: impl Fn(Value) -> F + Send + Sync + 'static)
    where
        F: Future<Output = (u16, String)> + Send + 'static,
    {
        let script: Arc<Script> = Arc::new(move |review| Box::pin(script(review)));
        self.scripts.lock().insert(path.to_owned(), script);
    }

    /// What a path answers from now on: the parts of a `response` besides its uid.
    pub(crate) fn says(&self, path: &str, response: impl Fn(&Value) -> Value + Send + Sync + 'static) {
        self.raw(path, move |review| {
            let mut answer = json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview"});
            answer["response"] = response(&review["request"]);
            answer["response"]["uid"] = review["request"]["uid"].clone();
            std::future::ready((200, answer.to_string()))
        });
    }

    /// What was asked since the last time, by path.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.asked.lock())
    }

    /// The paths that were asked since the last time.
    pub(crate) fn paths(&self) -> String {
        let paths: Vec<String> = self.asked().into_iter().map(|(path, _)| path).collect();
        paths.join(" ")
    }

    pub(crate) fn client_config(&self, path: &str) -> Value {
        use base64::Engine;
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        json!({"url": format!("https://localhost:{}{path}", self.port), "caBundle": ca})
    }

    /// A webhook of this server that hears of everything; its path is its name.
    pub(crate) fn hook(&self, name: &str, more: Value) -> Value {
        let mut hook = json!({
            "name": format!("{name}.example.com"),
            "clientConfig": self.client_config(&format!("/{name}")),
            "rules": [rule(&["*"], "*", "*", "*/*")],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        });
        for (key, value) in more.as_object().unwrap() {
            hook[key] = value.clone();
        }
        hook
    }
}

pub(crate) fn rule(operations: &[&str], group: &str, version: &str, resource: &str) -> Value {
    json!({"operations": operations, "apiGroups": [group], "apiVersions": [version], "resources": [resource]})
}

/// A JSON patch as a response carries it.
pub(crate) fn patch(operations: &Value) -> Value {
    use base64::Engine;
    let patch = base64::engine::general_purpose::STANDARD.encode(operations.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

pub(crate) struct World {
    pub(crate) registry: Registry,
}

pub(crate) fn write() -> WriteOptions {
    let user = User { name: "anna".to_owned(), groups: vec!["shops".to_owned()], ..User::default() };
    WriteOptions { manager: "test".to_owned(), user, remarks: Remarks::default(), ..WriteOptions::default() }
}

pub(crate) fn dry() -> WriteOptions {
    WriteOptions { dry_run: true, ..write() }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Options)) -> Self {
        let clock = Clock::manual("2026-01-01T12:00:00Z".parse::<Timestamp>().unwrap());
        let store = Store::memory();
        let reach = Reach::new(Arc::new(Doors::new(store.clone())));
        let mut options = Options {
            namespace_worker: false,
            gates: vec![Arc::new(Policies::default()), Arc::new(Webhooks::new(store.clone(), reach))],
            ..Options::default()
        };
        change(&mut options);
        let registry = Registry::start(store, clock, options).await.unwrap();
        let world = Self { registry };
        let shop = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"kind": "shop"}}});
        world.create("namespaces", "", shop).await.unwrap();
        world
    }

    /// `pods`, `apps/v1/deployments`, `pods/status`: a resource and perhaps its subresource.
    pub(crate) fn at(&self, resource: &str, namespace: &str, name: &str) -> At {
        let parts: Vec<&str> = resource.split('/').collect();
        let is_version =
            |part: &str| part.starts_with('v') && part.len() > 1 && part.as_bytes()[1].is_ascii_digit();
        let (group, version, rest) = match parts[..] {
            [group, version, ref rest @ ..] if is_version(version) => (group, version, rest),
            ref rest => ("", "v1", rest),
        };
        let kind = self.registry.catalog().kind(group, version, rest[0]).expect(resource).clone();
        let some = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Into::into);
        At {
            kind,
            namespace: some(namespace),
            name: some(name),
            subresource: rest.get(1).map(|&sub| sub.into()),
        }
    }

    pub(crate) async fn create(
        &self,
        resource: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Status> {
        self.create_with(resource, namespace, object, &write()).await
    }

    pub(crate) async fn create_with(
        &self,
        resource: &str,
        namespace: &str,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Value, Status> {
        let name = if resource.split('/').count() % 3 == 2 { name_of(&object) } else { "" };
        let at = self.at(resource, namespace, name);
        let written = self.registry.create(&at, object.clone(), options).await?;
        Ok(serde_json::from_slice(&written.bytes).unwrap())
    }

    pub(crate) async fn update(
        &self,
        resource: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Status> {
        let at = self.at(resource, namespace, name_of(&object));
        let written = self.registry.update(&at, object.clone(), &write()).await?;
        Ok(serde_json::from_slice(&written.bytes).unwrap())
    }

    pub(crate) async fn delete(&self, resource: &str, namespace: &str, name: &str) -> Result<(), Status> {
        let at = self.at(resource, namespace, name);
        self.registry.delete(&at, &DeleteOptions::default(), &write()).await.map(|_| ())
    }

    /// A configuration of one kind, `Mutating` or `Validating`.
    pub(crate) async fn configure(&self, way: &str, name: &str, hooks: &[Value]) {
        let kind = format!("{way}WebhookConfiguration");
        let resource = format!("admissionregistration.k8s.io/v1/{}s", kind.to_lowercase());
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": name}, "webhooks": hooks,
        });
        let created = self.create(&resource, "", object).await;
        created.unwrap_or_else(|status| panic!("{status}: {:?}", status.details));
    }

    pub(crate) async fn forget(&self, way: &str, name: &str) {
        let resource = format!("admissionregistration.k8s.io/v1/{}webhookconfigurations", way.to_lowercase());
        self.delete(&resource, "", name).await.unwrap();
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    })
}
