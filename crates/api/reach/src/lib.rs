//! Reaches the servers that extend the API: admission and conversion webhooks, extension API servers; and those behind it: nodes,
//! pods. Finds the address, speaks TLS, keeps connections. Knows nothing of what is asked or answered.

mod connect;
mod error;
mod pool;
mod target;
mod tls;

pub use error::{Cause, ReachError};
pub use target::{Door, Identity, Place, Resolve, ResolveError, Target};

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, UPGRADE};
use http::{HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use pool::Pool;

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// What is sent to an extension server.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// More than any sensible answer of a webhook: an object may have 1.5 MiB, a conversion answers with many.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// Calls servers over connections that are kept and shared. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Reach {
    resolve: Arc<dyn Resolve>,
    pool: Arc<Pool>,
}

impl Reach {
    pub fn new(resolve: Arc<dyn Resolve>) -> Self {
        Self { resolve, pool: Arc::default() }
    }

    /// Sends a request to the target's place and reads the whole answer. The request's path and query come behind the
    /// target's own. All of it has to happen within `timeout`.
    pub async fn send(
        &self,
        target: &Target,
        request: Request<Full<Bytes>>,
        timeout: Duration,
    ) -> Result<Response<Bytes>, ReachError> {
        let request = request.map(|body| body.map_err(|never| match never {}).boxed_unsync());
        let (method, url) = (request.method().clone(), target.url(request.uri()));
        let failed = |cause| ReachError { method: method.clone(), url: url.clone(), cause };
        let exchange = async {
            let (head, body) = self.open(target, request).await?.into_parts();
            let whole = Limited::new(body, LARGEST_ANSWER).collect().await.map_err(|error| {
                failed(match error.downcast_ref::<LengthLimitError>() {
                    Some(_) => Cause::TooLarge { limit: LARGEST_ANSWER },
                    None => Cause::Broken { why: error.to_string() },
                })
            })?;
            Ok(Response::from_parts(head, whole.to_bytes()))
        };
        tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_| Err(failed(Cause::Deadline)))
    }

    /// Sends a request and gives its answer as soon as it begins: for watches, and for connections that are upgraded.
    pub async fn open(
        &self,
        target: &Target,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, ReachError> {
        let (method, url) = (request.method().clone(), target.url(request.uri()));
        let failed = |cause| ReachError { method: method.clone(), url: url.clone(), cause };
        let uri = url.parse().map_err(|_| failed(Cause::Url))?;
        let door = target.door(&*self.resolve).map_err(|error| failed(error.into()))?;
        // An upgrade takes a connection over, and HTTP/2 has none to give away.
        let exclusive = target.is_exclusive() || request.headers().contains_key(UPGRADE);
        let client = self.pool.client(target, door, exclusive).map_err(failed)?;
        *request.uri_mut() = uri;
        // The authority that we ask for says the same; one that came with the request would be its client's.
        if let Some(host) = request.uri().authority().map(|host| host.as_str().to_owned())
            && let Ok(host) = HeaderValue::from_str(&host)
        {
            request.headers_mut().insert(HOST, host);
        }
        client.request(request).await.map_err(|error| failed(Cause::of(&error)))
    }
}

#[cfg(test)]
mod tests;
