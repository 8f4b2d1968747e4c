//! Reaches the servers that extend the API: admission and conversion webhooks, extension API servers; and those behind it: nodes,
//! pods. Finds the address, speaks TLS, keeps connections. Knows nothing of what is asked or answered.

mod connect;
mod error;
mod exchange;
mod pool;
mod target;
mod tls;

pub use error::{Cause, ReachError};
pub use target::{Door, Identity, Place, Resolve, ResolveError, Target};

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HOST, UPGRADE};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Full;
use http_body_util::combinators::UnsyncBoxBody;
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
        mut request: Request<Full<Bytes>>,
        timeout: Duration,
    ) -> Result<Response<Bytes>, ReachError> {
        let (method, url) = (request.method().clone(), target.url(request.uri()));
        let exchange = async {
            let door = target.door(&*self.resolve)?;
            let exchanges = self.pool.exchanges(target, door)?;
            let uri: Uri = url.parse().map_err(|_| Cause::Url)?;
            tell_host(&mut request, &uri);
            // Who serves it is said by the header; the line names the place there.
            let path = uri.path_and_query().cloned().map_or_else(Uri::default, Uri::from);
            *request.uri_mut() = path;
            exchanges.send(request).await
        };
        let answer = tokio::time::timeout(timeout, exchange).await.unwrap_or(Err(Cause::Deadline));
        answer.map_err(|cause| ReachError { method, url, cause })
    }

    /// Sends a request and gives its answer as soon as it begins: for watches, and for connections that are upgraded.
    pub async fn open(
        &self,
        target: &Target,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, ReachError> {
        let (method, url) = (request.method().clone(), target.url(request.uri()));
        let failed = |cause| ReachError { method: method.clone(), url: url.clone(), cause };
        let uri: Uri = url.parse().map_err(|_| failed(Cause::Url))?;
        let door = target.door(&*self.resolve).map_err(|error| failed(error.into()))?;
        // An upgrade takes a connection over, and HTTP/2 has none to give away.
        let exclusive = target.is_exclusive() || request.headers().contains_key(UPGRADE);
        let client = self.pool.client(target, door, exclusive).map_err(failed)?;
        tell_host(&mut request, &uri);
        *request.uri_mut() = uri;
        client.request(request).await.map_err(|error| failed(Cause::of(&error)))
    }
}

/// The authority that we ask for; one that came with the request would be its client's.
fn tell_host<B>(request: &mut Request<B>, uri: &Uri) {
    if let Some(host) = uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
        request.headers_mut().insert(HOST, host);
    }
}

#[cfg(test)]
mod tests;
