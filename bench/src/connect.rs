//! One keep-alive HTTP/1.1 connection over TLS, one request at a time: the cheapest client there is, since it shares the
//! machine with the server that it measures.

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::BenchError;
use crate::kubeconfig::Target;

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    token: Option<String>,
    accept: &'static str,
}

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Self, BenchError> {
        let address = format!("{}:{}", target.host, target.port);
        let failed = |source| BenchError::Connect { address: address.clone(), source };
        let socket = TcpStream::connect((target.host.as_str(), target.port)).await.map_err(failed)?;
        socket.set_nodelay(true).map_err(failed)?;
        let name = ServerName::try_from(target.host.clone())
            .map_err(|error| failed(std::io::Error::new(std::io::ErrorKind::InvalidInput, error)))?;
        let stream = TlsConnector::from(target.tls.clone()).connect(name, socket).await.map_err(failed)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Ends by itself when the sender is dropped; a failure shows in the next request.
        tokio::spawn(connection);
        Ok(Self { sender, host: address, token: target.token.clone(), accept: target.accept })
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, BenchError> {
        let mut request = Request::builder()
            .method(&method)
            .uri(path)
            .header("host", &self.host)
            .header("user-agent", "kedge-bench")
            .header("accept", self.accept);
        if !body.is_empty() {
            request = request.header("content-type", content_type);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        self.sender.ready().await?;
        let response = self.sender.send_request(request.body(Full::new(body))?).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let code = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        let body = String::from_utf8_lossy(&body).chars().take(500).collect();
        Err(BenchError::Answer { method: method.to_string(), path: path.to_owned(), code, body })
    }

    /// Sends and reads the answer to its end; returns its length.
    pub(crate) async fn drain(
        &mut self,
        method: Method,
        path: &str,
        kind: &str,
        body: Bytes,
    ) -> Result<usize, BenchError> {
        let mut answer = self.send(method, path, kind, body).await?.into_body();
        let mut length = 0;
        while let Some(frame) = answer.frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(length)
    }

    pub(crate) async fn text(&mut self, path: &str) -> Result<String, BenchError> {
        let answer = self.send(Method::GET, path, "", Bytes::new()).await?;
        let body = answer.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    pub(crate) async fn json(&mut self, path: &str) -> Result<serde_json::Value, BenchError> {
        self.accept = "application/json";
        let answer = self.send(Method::GET, path, "", Bytes::new()).await?;
        let body = answer.into_body().collect().await?.to_bytes();
        serde_json::from_slice(&body).map_err(|source| BenchError::Json {
            method: "GET".into(),
            path: path.to_owned(),
            source,
        })
    }
}
