//! Requests to the API: paths and JSON in, JSON or a `Status` as an error out. Knows no kind.

pub(crate) mod kubeconfig;
mod watch;

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

pub(crate) use self::watch::Lines;
use crate::Setting;
use crate::args::{Typed, duration};
use crate::error::{CliError, Refusal};
use crate::screen::Screen;

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// A connection to one server as one user.
pub(crate) struct Api {
    client: Client,
    /// Of the context.
    pub(crate) namespace: String,
    /// `https://127.0.0.1:6443`
    pub(crate) server: String,
    timeout: Option<Duration>,
    screen: Screen,
    warnings_fail: bool,
}

impl Api {
    pub(crate) async fn connect(typed: &Typed, setting: &Setting, screen: Screen) -> Result<Self, CliError> {
        let (mut config, places) = kubeconfig::config(typed, setting).await?;
        // A watch may be silent for as long as nothing happens; what may take only so long says so itself.
        config.read_timeout = None;
        // Who is asked to come again later is told so: a drain says which budget it waits for.
        config.default_retry = false;
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = config.default_namespace.clone();
        let timeout = match typed.text("request-timeout") {
            None | Some("0") => None,
            Some(text) => Some(duration(text).ok_or_else(|| {
                CliError::usage(
                    "Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time \
                     unit (e.g. 1s | 2m | 3h)",
                )
            })?),
        };
        let client = kedge_client::connect(config, places)
            .map_err(|error| CliError::Kubeconfig { message: causes(&error) })?;
        Ok(Self { client, namespace, server, timeout, screen, warnings_fail: typed.is("warnings-as-errors") })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.get_as(path, JSON).await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Result<Value, CliError> {
        self.json(request(Method::GET, path, accept, None, Bytes::new())?).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Result<Value, CliError> {
        self.send(Method::POST, path, JSON, object).await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Result<Value, CliError> {
        self.send(Method::PUT, path, JSON, object).await
    }

    pub(crate) async fn delete(&self, path: &str, options: &Value) -> Result<Value, CliError> {
        self.send(Method::DELETE, path, JSON, options).await
    }

    pub(crate) async fn patch(&self, path: &str, form: &str, patch: &Value) -> Result<Value, CliError> {
        self.send(Method::PATCH, path, form, patch).await
    }

    async fn send(&self, method: Method, path: &str, form: &str, body: &Value) -> Result<Value, CliError> {
        self.json(request(method, path, JSON, Some(form), Bytes::from(body.to_string()))?).await
    }

    /// Bytes of any form to any path, and what comes back.
    pub(crate) async fn raw(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, CliError> {
        if !path.starts_with('/') {
            return Err(CliError::usage(format!(
                "--raw must be a valid URL path: parse {path:?}: invalid URI for request"
            )));
        }
        self.whole(request(method, path, JSON, Some(JSON), body)?).await
    }

    async fn json(&self, request: Request<Body>) -> Result<Value, CliError> {
        let path = request.uri().path().to_owned();
        let bytes = self.whole(request).await?;
        serde_json::from_slice(&bytes).map_err(|error| CliError::Manifest {
            what: format!("the answer to {path} cannot be read"),
            message: error.to_string(),
        })
    }

    async fn whole(&self, request: Request<Body>) -> Result<Bytes, CliError> {
        let all = async {
            let response = self.open(request).await?;
            let body = response.into_body().collect().await.map_err(|error| self.broken(&error))?;
            Ok(body.to_bytes())
        };
        match self.timeout {
            None => all.await,
            Some(most) => match tokio::time::timeout(most, all).await {
                Ok(done) => done,
                Err(_) => Err(CliError::Unreachable(format!(
                    "Unable to connect to the server: {} did not answer within {most:?}",
                    self.server
                ))),
            },
        }
    }

    /// An answer whose body is still to come. Refusals are errors here.
    pub(crate) async fn open(&self, request: Request<Body>) -> Result<Response<Body>, CliError> {
        let asked = format!("{} {}", request.method(), request.uri().path());
        let response = self.client.send(request).await.map_err(|error| self.unreachable(&error))?;
        let warnings = warnings(&response);
        if self.warnings_fail && !warnings.is_empty() {
            return Err(CliError::unmet(format!(
                "{} warning received: {}",
                warnings.len(),
                warnings.join("; ")
            )));
        }
        warnings.iter().for_each(|warning| self.screen.warn(&format!("Warning: {warning}")));
        let code = response.status();
        if code.is_success() || code == http::StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response);
        }
        let body = response.into_body().collect().await.map_err(|error| self.broken(&error))?.to_bytes();
        Err(CliError::Server(refusal(code.as_u16(), &body, asked)))
    }

    /// Whatever the server answers, as it is.
    pub(crate) async fn pass(&self, request: Request<Body>) -> Result<Response<Body>, CliError> {
        self.client.send(request).await.map_err(|error| self.unreachable(&error))
    }

    fn broken(&self, error: &dyn std::error::Error) -> CliError {
        CliError::Unreachable(format!("The connection to {} broke: {}", self.server, causes(error)))
    }

    fn unreachable(&self, error: &kube::Error) -> CliError {
        let why = causes(error);
        let place = self.server.trim_start_matches("https://").trim_start_matches("http://");
        // Where there are several servers, each has its own reason.
        let refused = why.contains("onnection refused") && !why.contains("no server can be reached");
        // An answer that is no HTTP is the other side's attempt to speak TLS.
        let wants_tls = self.server.starts_with("http://") && why.contains("invalid HTTP version");
        CliError::Unreachable(match (refused, wants_tls) {
            (true, _) => format!(
                "The connection to the server {place} was refused - did you specify the right host or port?"
            ),
            (_, true) => format!("Unable to connect to the server: {place} speaks HTTPS: https://{place}"),
            _ => format!("Unable to connect to the server: {why}"),
        })
    }
}

/// A request whose answer is JSON or whatever else `accept` says.
pub(crate) fn request(
    method: Method,
    path: &str,
    accept: &str,
    form: Option<&str>,
    body: Bytes,
) -> Result<Request<Body>, CliError> {
    let mut request = Request::builder().method(method).uri(path).header(ACCEPT, accept);
    if let Some(form) = form {
        request = request.header(CONTENT_TYPE, form);
    }
    request
        .body(Body::from(body))
        .map_err(|error| CliError::usage(format!("{path} cannot be asked for: {error}")))
}

/// `path?name=value&…`; what has no value is left out.
pub(crate) fn with<'v>(path: &str, parameters: impl IntoIterator<Item = (&'v str, &'v str)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for (name, value) in parameters {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    match (query.is_empty(), path.contains('?')) {
        (true, _) => path.to_owned(),
        (false, false) => format!("{path}?{query}"),
        (false, true) => format!("{path}&{query}"),
    }
}

/// [`with`], for parameters of one's own.
pub(crate) fn with_all(path: &str, parameters: &[(&'static str, String)]) -> String {
    with(path, parameters.iter().map(|(name, value)| (*name, value.as_str())))
}

fn warnings(response: &Response<Body>) -> Vec<String> {
    let said = response.headers().get_all(http::header::WARNING).iter();
    said.filter_map(|value| {
        // `299 - "text"`
        let text = value.to_str().ok()?.split_once('"')?.1;
        Some(text.strip_suffix('"').unwrap_or(text).replace("\\\"", "\"").replace("\\\\", "\\"))
    })
    .collect()
}

pub(crate) fn refusal(code: u16, body: &[u8], request: String) -> Refusal {
    let status: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
    // Who answers with something else than a status says no more than a number does.
    let (reason, message) = match (code, text("reason"), text("message")) {
        (404, reason, message) if reason.is_empty() && message.is_empty() => {
            ("NotFound".to_owned(), "the server could not find the requested resource".to_owned())
        }
        (405, reason, message) if reason.is_empty() && message.is_empty() => (
            "MethodNotAllowed".to_owned(),
            "the server does not allow this method on the requested resource".to_owned(),
        ),
        (_, reason, message) if message.is_empty() => {
            (reason, String::from_utf8_lossy(body).trim().to_owned())
        }
        (_, reason, message) => (reason, message),
    };
    Refusal { code, reason, message, status, request }
}

/// An error and what it came from, in one line.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(&format!(": {said}"));
        }
        cause = error.source();
    }
    BETWEEN.iter().fold(text, |text, words| text.replace(words, ""))
}

/// Words of the layers between, which tell a person nothing.
const BETWEEN: [&str; 3] = ["ServiceError: ", "client error (Connect): ", "client error (SendRequest): "];
