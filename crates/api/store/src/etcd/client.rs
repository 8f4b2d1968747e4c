//! Calls to etcd: addresses, encryption, time limits, and where our keys stand. Decides nothing.

use std::time::Duration;

use futures::Stream;
use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::value::{self, number};
use super::wire::{
    CompactionRequest, CompactionResponse, KeyValue, PutRequest, RangeRequest, RangeResponse, RequestOp,
    ResponseHeader, TxnRequest, TxnResponse, WatchRequest, WatchResponse, request_op,
};
use super::{EtcdOptions, EtcdTls};
use crate::error::{EtcdAttempt, StoreError};
use crate::seal::Sealer;
use crate::{Entry, Key, Revision};

/// The key of events that mean nothing; no entry.
pub(crate) const TICK: &str = "/.tick";

/// How often a call that reached nobody is made again, and after what pause. Members are taken by chance.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(5);

/// What etcd takes in one request unless told otherwise.
const REQUEST_LIMIT: usize = 3 << 19;

#[derive(Clone)]
pub(crate) struct Client {
    grpc: Grpc<Channel>,
    prefix: String,
    patience: Duration,
    sealer: Sealer,
}

impl Client {
    pub(crate) fn new(endpoints: &[String], options: &EtcdOptions) -> Result<Self, StoreError> {
        let endpoints = endpoints
            .iter()
            .map(|text| endpoint(text, options.tls.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        let channel = match <[Endpoint; 1]>::try_from(endpoints) {
            Ok([only]) => only.connect_lazy(),
            Err(several) => Channel::balance_list(several.into_iter()),
        };
        let grpc = Grpc::new(channel).max_decoding_message_size(usize::MAX);
        let sealer = Sealer::new(options.seal.clone());
        Ok(Client { grpc, prefix: options.prefix.clone(), patience: options.patience, sealer })
    }

    pub(crate) fn sealer(&self) -> &Sealer {
        &self.sealer
    }

    /// Where `key` stands in etcd.
    pub(crate) fn key(&self, key: &Key) -> Vec<u8> {
        [self.prefix.as_bytes(), key.as_str().as_bytes()].concat()
    }

    /// The first key of ours that can be, and the first behind all of them.
    pub(crate) fn bounds(&self) -> (Vec<u8>, Vec<u8>) {
        // Every key of ours begins with a slash, and what follows a slash is a zero.
        ([self.prefix.as_bytes(), b"/"].concat(), [self.prefix.as_bytes(), b"0"].concat())
    }

    /// Our key and entry of what stands in etcd.
    pub(crate) fn entry(&self, kv: &KeyValue) -> Result<(Key, Entry), StoreError> {
        let key = self.our_key(kv);
        let entry = value::decode(&key, kv, &self.sealer)?;
        Ok((key, entry))
    }

    pub(crate) fn our_key(&self, kv: &KeyValue) -> Key {
        let text = String::from_utf8_lossy(&kv.key);
        Key::from(text.strip_prefix(self.prefix.as_str()).unwrap_or(&text))
    }

    pub(crate) async fn txn(&self, request: TxnRequest) -> Result<TxnResponse, StoreError> {
        let size = request.encoded_len();
        self.call("/etcdserverpb.KV/Txn", request, EtcdAttempt::Commit).await.map_err(|error| match error {
            StoreError::Etcd { source, .. }
                if source.code() == Code::InvalidArgument && source.message().contains("too large") =>
            {
                StoreError::TooLarge { size, limit: REQUEST_LIMIT }
            }
            other => other,
        })
    }

    pub(crate) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, StoreError> {
        self.call("/etcdserverpb.KV/Range", request, EtcdAttempt::Read).await
    }

    /// The revision that a majority of the cluster agrees on now.
    pub(crate) async fn newest(&self) -> Result<Revision, StoreError> {
        let key = self.bounds().0;
        let answer =
            self.range(RangeRequest { key, keys_only: true, limit: 1, ..Default::default() }).await?;
        Ok(revision(answer.header.as_ref()))
    }

    /// Makes an event under our prefix that means nothing but its revision.
    pub(crate) async fn tick(&self) -> Result<(), StoreError> {
        let put = PutRequest { key: self.key(&TICK.into()), ..Default::default() };
        let success = vec![RequestOp { request: Some(request_op::Request::Put(put)) }];
        self.txn(TxnRequest { success, ..Default::default() }).await.map(|_| ())
    }

    pub(crate) async fn compact(&self, at: Revision) -> Result<(), StoreError> {
        let request = CompactionRequest { revision: number(at) };
        match self.call("/etcdserverpb.KV/Compact", request, EtcdAttempt::Compact).await {
            Ok(CompactionResponse {}) => Ok(()),
            // Another server was there first.
            Err(StoreError::Etcd { source, .. }) if source.code() == Code::OutOfRange => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn watch(
        &self,
        requests: impl Stream<Item = WatchRequest> + Send + 'static,
    ) -> Result<Streaming<WatchResponse>, StoreError> {
        let mut grpc = self.grpc.clone();
        let opened = async {
            grpc.ready().await.map_err(unreachable)?;
            let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
            grpc.streaming(Request::new(requests), path, ProstCodec::default()).await
        };
        self.in_time(opened, EtcdAttempt::Watch).await.map(tonic::Response::into_inner)
    }

    /// A member that is away takes its share of calls like the others: what never reached it is sent to another.
    async fn call<Q: Message + Clone + 'static, A: Message + Default + 'static>(
        &self,
        path: &'static str,
        request: Q,
        attempt: EtcdAttempt,
    ) -> Result<A, StoreError> {
        let mut grpc = self.grpc.clone();
        let answered = async {
            let mut tries = TRIES;
            loop {
                grpc.ready().await.map_err(unreachable)?;
                let path = PathAndQuery::from_static(path);
                match grpc.unary(Request::new(request.clone()), path, ProstCodec::default()).await {
                    Err(status) if tries > 0 && was_never_sent(&status) => {
                        tries -= 1;
                        tokio::time::sleep(BETWEEN).await;
                    }
                    answer => return answer,
                }
            }
        };
        self.in_time(answered, attempt).await.map(tonic::Response::into_inner)
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, Status>>,
        attempt: EtcdAttempt,
    ) -> Result<T, StoreError> {
        let late = |_| Err(Status::deadline_exceeded(format!("no answer within {:?}", self.patience)));
        timeout(self.patience, work)
            .await
            .unwrap_or_else(late)
            .map_err(|source| StoreError::Etcd { attempt, source: Box::new(source) })
    }
}

pub(crate) fn revision(header: Option<&ResponseHeader>) -> Revision {
    header.map_or(Revision::ZERO, |header| value::revision(header.revision))
}

fn unreachable(error: tonic::transport::Error) -> Status {
    Status::from_error(error.into())
}

fn endpoint(text: &str, tls: Option<&EtcdTls>) -> Result<Endpoint, StoreError> {
    let unusable =
        |source| StoreError::Endpoint { endpoint: text.to_owned(), source: std::sync::Arc::new(source) };
    let mut endpoint = Endpoint::from_shared(text.to_owned())
        .map_err(unusable)?
        .connect_timeout(Duration::from_secs(5))
        .tcp_nodelay(true)
        // A watch is silent for long; without these a dead peer would look like a quiet one.
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_timeout(Duration::from_secs(5))
        .keep_alive_while_idle(true);
    if text.starts_with("https://") {
        let mut config = ClientTlsConfig::new();
        if let Some(tls) = tls {
            config = config.ca_certificate(Certificate::from_pem(&tls.ca));
            if let Some((certificate, key)) = &tls.identity {
                config = config.identity(Identity::from_pem(certificate, key));
            }
        }
        endpoint = endpoint.tls_config(config).map_err(unusable)?;
    }
    Ok(endpoint)
}

/// Whether a call failed because there was no connection to make it on.
fn was_never_sent(status: &Status) -> bool {
    status.code() == Code::Unavailable && status.message().contains("connect error")
}
