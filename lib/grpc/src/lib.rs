//! Calls to a program on this machine: gRPC over a Unix socket, connected when it is first used and again whenever it broke.
//! Every call has a time limit and is made once. Knows no service.

use std::path::Path;
use std::time::Duration;

use futures::Stream;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::UnixStream;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};
pub use tonic::{Code, Status};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

/// What a list of very many things may weigh.
const LARGEST_ANSWER: usize = 64 << 20;

#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    #[error("{call}: nobody answers: {reason}")]
    Unreachable { call: &'static str, reason: String },
    #[error("{call}: no answer within {limit:?}")]
    TimedOut { call: &'static str, limit: Duration },
    /// In the words of the one who was called, for people to read.
    #[error("{message}")]
    Refused { call: &'static str, code: Code, message: String },
}

impl CallError {
    fn of(call: &'static str, status: &Status) -> Self {
        match status.code() {
            Code::Unavailable => Self::Unreachable { call, reason: status.message().to_owned() },
            code => Self::Refused { call, code, message: status.message().to_owned() },
        }
    }

    /// What was asked about does not exist, or no longer.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Refused { code: Code::NotFound, .. })
    }

    /// There was no time left, for us or for the one who was called.
    pub fn is_late(&self) -> bool {
        match self {
            Self::TimedOut { .. } => true,
            // Some say it in words alone.
            Self::Refused { code, message, .. } => {
                *code == Code::DeadlineExceeded || message.ends_with("context deadline exceeded")
            }
            Self::Unreachable { .. } => false,
        }
    }

    /// What was to be made is there already.
    pub fn is_there_already(&self) -> bool {
        matches!(self, Self::Refused { code: Code::AlreadyExists, .. })
    }
}

/// Cheap to clone; clones share the connection.
#[derive(Clone, Debug)]
pub struct Caller {
    channel: Channel,
    headers: Vec<(&'static str, MetadataValue<Ascii>)>,
}

impl Caller {
    /// Calls fail as unreachable for as long as nobody listens there. Needs a running tokio runtime.
    pub fn at(socket: &Path) -> Self {
        let socket = socket.to_owned();
        let dial = move |_| {
            let socket = socket.clone();
            async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
        };
        // Every request names a host, and a socket has none.
        let channel = Endpoint::from_static("http://localhost").connect_with_connector_lazy(service_fn(dial));
        Self { channel, headers: Vec::new() }
    }

    /// Sends a header with every call. One that cannot be sent is left out.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.extend(value.parse().ok().map(|value| (name, value)));
        self
    }

    /// One question, one answer. `path` is `/package.Service/Call`.
    pub async fn ask<Q, A>(&self, path: &'static str, request: Q, limit: Duration) -> Result<A, CallError>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let call = name(path);
        let asked = async {
            let mut grpc = self.ready(call).await?;
            let codec = ProstCodec::<Q, A>::default();
            let answer = grpc.unary(self.request(request), PathAndQuery::from_static(path), codec).await;
            answer.map(tonic::Response::into_inner).map_err(|status| CallError::of(call, &status))
        };
        tokio::time::timeout(limit, asked).await.unwrap_or(Err(CallError::TimedOut { call, limit }))
    }

    /// One question, answers for as long as the stream is held.
    pub async fn follow<Q, A>(&self, path: &'static str, request: Q) -> Result<Streaming<A>, CallError>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let call = name(path);
        let mut grpc = self.ready(call).await?;
        let codec = ProstCodec::<Q, A>::default();
        let answer =
            grpc.server_streaming(self.request(request), PathAndQuery::from_static(path), codec).await;
        answer.map(tonic::Response::into_inner).map_err(|status| CallError::of(call, &status))
    }

    /// A stream of questions, a stream of answers.
    pub async fn talk<Q, A>(
        &self,
        path: &'static str,
        requests: impl Stream<Item = Q> + Send + 'static,
    ) -> Result<Streaming<A>, CallError>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let call = name(path);
        let mut grpc = self.ready(call).await?;
        let codec = ProstCodec::<Q, A>::default();
        let answer = grpc.streaming(self.request(requests), PathAndQuery::from_static(path), codec).await;
        answer.map(tonic::Response::into_inner).map_err(|status| CallError::of(call, &status))
    }

    /// An answer of a stream, or the reason why there are no more.
    pub async fn next<A>(call: &'static str, answers: &mut Streaming<A>) -> Result<Option<A>, CallError> {
        answers.message().await.map_err(|status| CallError::of(call, &status))
    }

    async fn ready(&self, call: &'static str) -> Result<Grpc<Channel>, CallError> {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(LARGEST_ANSWER);
        let ready = grpc.ready().await;
        ready.map_err(|error| CallError::Unreachable { call, reason: error.to_string() })?;
        Ok(grpc)
    }

    fn request<Q>(&self, message: Q) -> Request<Q> {
        let mut request = Request::new(message);
        for (name, value) in &self.headers {
            request.metadata_mut().insert(*name, value.clone());
        }
        request
    }
}

fn name(path: &'static str) -> &'static str {
    path.rsplit('/').next().unwrap_or(path)
}
