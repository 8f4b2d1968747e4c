//! What a create costs that one mutating and one validating webhook have a word in, beside a plain one. The webhooks are a
//! server in this process that says yes and patches a label; their own work is part of the figure.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::connect::Connection;
use crate::measures::{Api, Measure};
use crate::{BenchError, Size, bare, report};

use super::server::Server;
use super::{Table, fresh, median, named};

/// As many as one webhook's connections would be shared by on a cluster of some size.
const CONNECTIONS: usize = 8;

pub(super) async fn webhooks(
    kedge: &Path,
    folder: &Path,
    count: usize,
    table: &mut Table,
) -> Result<(), BenchError> {
    report::note("creates through webhooks…");
    let size = Size { connections: CONNECTIONS, count, bytes: 1024 };
    let mut ratios = Vec::new();
    for round in 0..3 {
        let server = Server::kedge(kedge, &fresh(folder, &format!("webhooks-{round}"))?).await?;
        let api = Api { target: server.target()?, size: size.clone(), server: Some(server.pid) };
        let plain = named("kedge", api.run(Measure::CreateConfigmaps).await?);
        api.run(Measure::DeleteConfigmaps).await?;
        let hook = Hook::start(&folder.join(format!("hook-{round}"))).await?;
        hook.configure(&api).await?;
        let asked = named("kedge, webhooks", api.run(Measure::CreateConfigmaps).await?);
        ratios.push(asked.p50_ms.unwrap_or(f64::MAX) / plain.p50_ms.unwrap_or(1.0));
        hook.serving.abort();
        server.stop().await;
    }
    table.at_most("create through 2 webhooks ÷ plain create, p50", median(&mut ratios), "×", 3.0);
    Ok(())
}

struct Hook {
    port: u16,
    ca: String,
    serving: tokio::task::JoinHandle<()>,
}

impl Hook {
    async fn start(kubeconfig: &Path) -> Result<Self, BenchError> {
        let (listener, config) = bare::open("127.0.0.1:0", kubeconfig).await?;
        let failed = |source| BenchError::Connect { address: "a webhook".to_owned(), source };
        let port = listener.local_addr().map_err(failed)?.port();
        let text = std::fs::read_to_string(kubeconfig)
            .map_err(|source| BenchError::Read { path: kubeconfig.to_owned(), source })?;
        let ca = text.split("certificate-authority-data: ").nth(1).unwrap_or_default();
        let ca = ca.split('}').next().unwrap_or_default().to_owned();
        let serving = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config))));
        Ok(Self { port, ca, serving })
    }

    async fn configure(&self, api: &Api) -> Result<(), BenchError> {
        let mut connection = Connection::open(&api.target).await?;
        for way in ["Mutating", "Validating"] {
            let kind = format!("{way}WebhookConfiguration");
            let rule = json!({
                "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
            });
            let configuration = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "bench"},
                "webhooks": [{
                    "name": "bench.example.com", "rules": [rule], "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "clientConfig": {"url": format!("https://127.0.0.1:{}/{way}", self.port), "caBundle": self.ca},
                }],
            });
            let path = format!("/apis/admissionregistration.k8s.io/v1/{}s", kind.to_lowercase());
            let body = Bytes::from(configuration.to_string());
            connection.drain(Method::POST, &path, "application/json", body).await?;
        }
        Ok(())
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((socket, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // A client that goes away in mid-handshake is its own affair.
            let _ = socket.set_nodelay(true);
            let Ok(stream) = acceptor.accept(socket).await else { return };
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mutating = request.uri().path() == "/Mutating";
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    if mutating {
        let patch = r#"[{"op":"add","path":"/metadata/labels","value":{"seen":"yes"}}]"#;
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(patch).into();
    }
    let answer =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    Ok(Response::new(Full::from(answer.to_string())))
}
