//! The health call of gRPC, `grpc.health.v1.Health/Check`.

use std::time::Duration;

use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::Outcome;
use crate::dial::{address, dial};

const AGENT: &str = "kube-probe/1.36";

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Check {
    #[prost(string, tag = "1")]
    service: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Checked {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// Whether a service says that it serves.
pub async fn grpc(host: &str, port: u16, service: &str, limit: Duration) -> Outcome {
    let at = address(host, port);
    let begun = tokio::time::Instant::now();
    let channel = match timeout(limit, connect(host, port)).await {
        Ok(Ok(channel)) => channel,
        // A client of gRPC tries again until its time is over, and this is what it says then.
        Ok(Err(_)) | Err(_) => {
            return Outcome::Failure(format!(
                "timeout: failed to connect service {at:?} within {}s: context deadline exceeded",
                limit.as_secs()
            ));
        }
    };
    let left = limit.saturating_sub(begun.elapsed());
    let checked = match timeout(left, check(channel, service)).await {
        Ok(Ok(checked)) => checked,
        Ok(Err(status)) if status.code() == Code::Unimplemented => {
            let message = status.message();
            return Outcome::Failure(format!(
                "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {message}"
            ));
        }
        Ok(Err(status)) => {
            let (code, message) = (status.code(), status.message());
            return Outcome::Failure(format!(
                "error: health rpc probe failed: rpc error: code = {code:?} desc = {message}"
            ));
        }
        Err(_) => {
            return Outcome::Failure(format!(
                "timeout: health rpc did not complete within {}s",
                limit.as_secs()
            ));
        }
    };
    let word = match checked {
        1 => return Outcome::Success,
        0 => "UNKNOWN".to_owned(),
        2 => "NOT_SERVING".to_owned(),
        3 => "SERVICE_UNKNOWN".to_owned(),
        other => other.to_string(),
    };
    Outcome::Failure(format!("service unhealthy (responded with {word:?})"))
}

async fn connect(host: &str, port: u16) -> Result<Channel, tonic::transport::Error> {
    let (host, at) = (host.to_owned(), format!("http://{}", address(host, port)));
    let connector = service_fn(move |_| {
        let host = host.clone();
        async move {
            let stream = dial(&host, port).await.map_err(std::io::Error::other)?;
            Ok::<_, std::io::Error>(TokioIo::new(stream))
        }
    });
    Endpoint::from_shared(at)?.user_agent(AGENT)?.connect_with_connector(connector).await
}

async fn check(channel: Channel, service: &str) -> Result<i32, Status> {
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let request = Request::new(Check { service: service.to_owned() });
    let path = PathAndQuery::from_static("/grpc.health.v1.Health/Check");
    let answer = grpc.unary(request, path, ProstCodec::<Check, Checked>::default()).await?;
    Ok(answer.into_inner().status)
}
