//! Requests to endpoints that speak HTTP/2 in the clear, such as gRPC servers: all of a worker's share one connection.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::{Busy, Failure, Place, Pool, open};

const PING: Duration = Duration::from_secs(20);

/// What went wrong, and the request if nothing of it was sent.
pub(crate) struct Refused {
    pub(crate) failure: Failure,
    pub(crate) unsent: Option<Request<Incoming>>,
}

/// Sends a request and waits for the head of its answer.
pub(crate) async fn call(
    pool: &Arc<Pool>,
    place: Arc<Place>,
    request: Request<Incoming>,
    patience: Duration,
) -> Result<(Response<Incoming>, Busy), Refused> {
    let to = place.address;
    let mut sender = match sender(&place).await {
        Ok(sender) => sender,
        Err(failure) => return Err(Refused { failure, unsent: Some(request) }),
    };
    let busy = pool.busy(place);
    match tokio::time::timeout(patience, sender.try_send_request(request)).await {
        Ok(Ok(answer)) => Ok((answer, busy)),
        Ok(Err(mut error)) => {
            let unsent = error.take_message();
            Err(Refused { failure: Failure::Http2 { to, source: error.into_error() }, unsent })
        }
        Err(_) => Err(Refused { failure: Failure::Silent { to }, unsent: None }),
    }
}

async fn sender(place: &Place) -> Result<SendRequest<Incoming>, Failure> {
    let known = place.http2.lock().clone();
    if let Some(sender) = known.filter(|sender| !sender.is_closed()) {
        return Ok(sender);
    }
    let to = place.address;
    let stream = open(to).await?;
    let shaking = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .handshake(TokioIo::new(stream));
    let (sender, connection) = shaking.await.map_err(|source| Failure::Http2 { to, source })?;
    tokio::spawn(connection);
    *place.http2.lock() = Some(sender.clone());
    Ok(sender)
}
