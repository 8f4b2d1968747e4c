//! Raw puts into etcd over gRPC: what the disk and a plain key-value store can do on this machine.

use std::time::Instant;

use http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use crate::load::Seen;
use crate::report::Line;
use crate::{BenchError, Size, process};

#[derive(Clone, PartialEq, prost::Message)]
struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// We only want to know that it was done.
#[derive(Clone, PartialEq, prost::Message)]
struct PutResponse {}

async fn put(channel: Channel, key: String, value: Vec<u8>) -> Result<(), BenchError> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await?;
    let request = tonic::Request::new(PutRequest { key: key.into_bytes(), value });
    let codec = ProstCodec::<PutRequest, PutResponse>::default();
    client.unary(request, PathAndQuery::from_static("/etcdserverpb.KV/Put"), codec).await?;
    Ok(())
}

pub(crate) async fn puts(endpoint: &str, size: &Size, server: Option<u32>) -> Result<Line, BenchError> {
    let mut channels = Vec::new();
    for _ in 0..size.connections {
        channels.push(Endpoint::from_shared(endpoint.to_owned())?.tcp_nodelay(true).connect().await?);
    }
    let before = server.map(process::cost);
    let start = Instant::now();
    let each = size.count / size.connections.max(1);
    let workers: Vec<_> = channels
        .into_iter()
        .enumerate()
        .map(|(worker, channel)| {
            let value = vec![b'x'; size.bytes];
            tokio::spawn(async move {
                let mut latencies = Vec::with_capacity(each);
                for number in 0..each {
                    let began = Instant::now();
                    put(channel.clone(), format!("/bench/{worker}/{number}"), value.clone()).await?;
                    latencies.push(began.elapsed());
                }
                Ok::<_, BenchError>(latencies)
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await??);
    }
    let seen = Seen::new(latencies, start.elapsed()).costing(before, server.map(process::cost));
    Ok(seen.line("etcd-put", size.connections))
}
