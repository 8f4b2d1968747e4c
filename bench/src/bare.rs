//! The floor: hyper and rustls answering fixed bytes from memory, with no API behind them.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::BenchError;

/// What it says to `GET …/pods` (streamed in pieces) and to everything else.
pub(crate) struct Answers {
    list: Vec<Bytes>,
    other: Bytes,
}

/// The size of a piece that a list is sent in.
const PIECE: usize = 128 * 1024;

impl Answers {
    pub(crate) fn load(answer: Option<&Path>, list: Option<&Path>) -> Result<Self, BenchError> {
        let read = |path: &Path| {
            std::fs::read(path)
                .map(Bytes::from)
                .map_err(|source| BenchError::Read { path: path.to_owned(), source })
        };
        let other = answer.map(read).transpose()?;
        let mut whole = list.map(read).transpose()?.unwrap_or_default();
        let mut pieces = Vec::new();
        while !whole.is_empty() {
            pieces.push(whole.split_to(whole.len().min(PIECE)));
        }
        Ok(Self {
            list: pieces,
            other: other.unwrap_or_else(|| crate::objects::config_map("config-0", 1024)),
        })
    }
}

pub(crate) async fn serve(listen: &str, write_kubeconfig: &Path, answers: Answers) -> Result<(), BenchError> {
    let (listener, config) = open(listen, write_kubeconfig).await?;
    run(listener, config, answers).await;
    Ok(())
}

/// Binds, makes a certificate and writes a kubeconfig for it.
pub(crate) async fn open(
    listen: &str,
    write_kubeconfig: &Path,
) -> Result<(TcpListener, ServerConfig), BenchError> {
    let failed = |source| BenchError::Connect { address: listen.to_owned(), source };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let mut config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let ca = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, made.cert.pem());
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: bare\ncontexts:\n- name: bare\n  context: {{cluster: bare, user: bare}}\n\
         clusters:\n- name: bare\n  cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority-data: {ca}}}\n\
         users:\n- name: bare\n  user: {{}}\n"
    );
    std::fs::write(write_kubeconfig, text)
        .map_err(|source| BenchError::Write { path: write_kubeconfig.to_owned(), source })?;
    Ok((listener, config))
}

async fn run(listener: TcpListener, config: ServerConfig, answers: Answers) {
    let (acceptor, answers) = (TlsAcceptor::from(Arc::new(config)), Arc::new(answers));
    while let Ok((socket, _)) = listener.accept().await {
        let (acceptor, answers) = (acceptor.clone(), answers.clone());
        tokio::spawn(async move {
            // A client that goes away in mid-handshake is its own affair.
            let _ = socket.set_nodelay(true);
            let Ok(stream) = acceptor.accept(socket).await else { return };
            let service = service_fn(move |request| answer(request, answers.clone()));
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    answers: Arc<Answers>,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let list = request.uri().path().ends_with("/pods");
    // A body that breaks off is of no interest here.
    let _ = request.into_body().collect().await;
    let body = if list {
        Pieces { pieces: answers.list.clone().into_iter() }.boxed_unsync()
    } else {
        Full::new(answers.other.clone()).boxed_unsync()
    };
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// A body that comes in pieces of unknown total length, as a list does.
struct Pieces {
    pieces: std::vec::IntoIter<Bytes>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(self.pieces.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
