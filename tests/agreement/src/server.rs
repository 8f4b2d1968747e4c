//! Sends one raw request to any API server that a kubeconfig names. Knows no kind.

use std::path::Path;
use std::time::Duration;

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;

use crate::AgreementError;

/// The name under which changes by plain updates show up in managed fields.
const MANAGER: &str = "agreement";
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Server {
    client: kube::Client,
}

/// A request with nothing left to fill in.
pub(crate) struct Call<'a> {
    pub(crate) step: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) accept: &'a str,
    pub(crate) user: Option<&'a str>,
    pub(crate) body: Option<String>,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

impl Server {
    pub async fn of_kubeconfig(path: &Path) -> Result<Self, AgreementError> {
        let at = |source: Box<dyn std::error::Error + Send + Sync>| AgreementError::Kubeconfig {
            path: path.to_owned(),
            source,
        };
        let kubeconfig = Kubeconfig::read_from(path).map_err(|error| at(error.into()))?;
        let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| at(error.into()))?;
        config.read_timeout = Some(PATIENCE);
        // A refusal is an answer, too.
        config.default_retry = false;
        let client = kube::Client::try_from(config).map_err(|error| at(error.into()))?;
        Ok(Self { client })
    }

    /// Whether the server says that it can be used.
    pub async fn is_ready(&self) -> Result<bool, AgreementError> {
        let (step, accept) = ("readyz", "*/*");
        let call = Call {
            step,
            method: "GET",
            path: "/readyz",
            content_type: accept,
            accept,
            user: None,
            body: None,
        };
        Ok(self.ask(&call).await?.status == 200)
    }

    pub(crate) async fn ask(&self, call: &Call<'_>) -> Result<Reply, AgreementError> {
        let step = || call.step.to_owned();
        let mut request = Request::builder().method(call.method).uri(call.path);
        request = request.header(USER_AGENT, MANAGER).header(ACCEPT, call.accept);
        if let Some(user) = call.user {
            request = request.header("Impersonate-User", user);
        }
        if call.body.is_some() {
            request = request.header(CONTENT_TYPE, call.content_type);
        }
        let request = request
            .body(Body::from(call.body.clone().unwrap_or_default().into_bytes()))
            .map_err(|source| AgreementError::Request { step: step(), source })?;
        let answered = async {
            let response = self.client.send(request).await?;
            let (head, body) = response.into_parts();
            Ok((head, body.collect_bytes().await?))
        };
        let (head, bytes) = tokio::time::timeout(PATIENCE, answered)
            .await
            .map_err(|_| AgreementError::Silent { step: step(), seconds: PATIENCE.as_secs() })?
            .map_err(|source: kube::Error| AgreementError::Unanswered {
                step: step(),
                source: Box::new(source),
            })?;
        let warnings = head.headers.get_all(http::header::WARNING).iter();
        let warnings = warnings.filter_map(|value| value.to_str().ok()).map(warning_text).collect();
        let watched = call.path.contains("watch=") || call.path.contains("/watch/");
        let body = if watched && head.status.is_success() { events(&bytes) } else { document(&bytes) };
        Ok(Reply { status: head.status.as_u16(), warnings, body })
    }
}

/// A warning reads `299 - "text"`.
fn warning_text(header: &str) -> String {
    let text = header.splitn(3, ' ').nth(2).unwrap_or(header);
    serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
}

fn document(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())
}

fn events(bytes: &[u8]) -> Value {
    let events: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(bytes).into_iter().collect();
    events.map_or_else(|_| String::from_utf8_lossy(bytes).into(), Value::Array)
}
