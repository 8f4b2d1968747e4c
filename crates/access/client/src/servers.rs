//! All servers of one cluster behind one client. Each connection goes to a server that takes it, the one that took the last first;
//! which ones there are and who we are may change while the client is used. Knows no kind and asks for nothing itself.

mod dial;
mod list;
mod open;
mod place;

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HeaderValue, UPGRADE};
use http::{Method, Request, Response, Uri, uri};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Client;
use kube::client::Body;
use parking_lot::RwLock;
use rustls::ClientConfig;
use tower::{BoxError, Service};

use self::dial::{Connector, Places};
use self::open::Open;
pub use self::place::Place;

/// How long a connection waits for its next request.
const IDLE: Duration = Duration::from_secs(60);
/// What the servers are called to those who read requests; where they are is decided below.
const HOST: &str = "kubernetes.default.svc";

/// Whom we trust and who we are. Whoever trusts nobody in particular has nothing to show either.
#[derive(Clone)]
pub enum Ties {
    /// Anybody may answer: for learning what is checked otherwise.
    Blind,
    /// The authority's certificate (PEM), and a token.
    Token { authority: String, token: String },
    /// The authority's certificate, and our own with its key (all PEM).
    Certificate { authority: String, certificate: String, key: String },
}

#[derive(Debug, thiserror::Error)]
pub enum TiesError {
    #[error("a certificate cannot be read")]
    Certificate(#[source] rustls::pki_types::pem::Error),
    #[error("a certificate cannot be used")]
    Unfit(#[from] rustls::Error),
    #[error("the token has letters that cannot be sent")]
    Token,
}

type Pool = legacy::Client<Connector, Body>;

/// What the next request goes with.
#[derive(Clone)]
struct Line {
    pool: Pool,
    token: Option<HeaderValue>,
}

/// Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Servers {
    places: Arc<Places>,
    open: Arc<Open>,
    line: Arc<RwLock<Line>>,
}

impl Servers {
    pub fn new(places: Vec<Place>, ties: &Ties) -> Result<Self, TiesError> {
        let (places, open) = (Arc::new(Places::new(places)), Arc::new(Open::default()));
        let line = Arc::new(RwLock::new(line((places.clone(), open.clone()), ties)?));
        Ok(Self { places, open, line })
    }

    /// The same for those who have their own way to say who they are. The servers' certificates are made out to `name`, if it is
    /// given, and else each to the place where its server is.
    pub(crate) fn trusting(places: Vec<Place>, tls: ClientConfig, name: Option<String>) -> Self {
        let (places, open) = (Arc::new(Places::new(places)), Arc::new(Open::default()));
        let pool = pool(Connector::new((places.clone(), open.clone()), Arc::new(tls), name));
        Self { places, open, line: Arc::new(RwLock::new(Line { pool, token: None })) }
    }

    /// A client of whichever answers. Needs a running tokio runtime.
    pub fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    /// From now on they are these. Connections that are open stay.
    pub fn set(&self, places: Vec<Place>) {
        self.places.set(places);
    }

    pub fn all(&self) -> Vec<Place> {
        self.places.all()
    }

    /// From now on we are this. What is under way ends as it began.
    pub fn tie(&self, ties: &Ties) -> Result<(), TiesError> {
        let new = line((self.places.clone(), self.open.clone()), ties)?;
        *self.line.write() = new;
        Ok(())
    }

    /// Ends connections from addresses that this machine no longer has. Whoever uses one goes on with another.
    pub fn end_stranded(&self) {
        self.open.end_stranded();
    }
}

fn line(shared: (Arc<Places>, Arc<Open>), ties: &Ties) -> Result<Line, TiesError> {
    let token = match ties {
        Ties::Token { token, .. } => {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| TiesError::Token)?;
            value.set_sensitive(true);
            Some(value)
        }
        _ => None,
    };
    let pool = pool(Connector::new(shared, dial::tls(ties)?, None));
    Ok(Line { pool, token })
}

fn pool(connector: Connector) -> Pool {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .build(connector)
}

/// The same question once more. What changes something, or has a conversation of its own, must not be said twice.
fn again(request: &Request<Body>) -> Option<Request<Body>> {
    let asks = request.method() == Method::GET && request.body().is_end_stream();
    if !asks || request.headers().contains_key(UPGRADE) {
        return None;
    }
    let mut copy = Request::new(Body::empty());
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

impl Service<Request<Body>> for Servers {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Incoming>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Line { pool, token } = self.line.read().clone();
        Box::pin(async move {
            let mut parts = std::mem::take(request.uri_mut()).into_parts();
            parts.scheme = Some(uri::Scheme::HTTPS);
            parts.authority = Some(uri::Authority::from_static(HOST));
            parts.path_and_query.get_or_insert_with(|| uri::PathAndQuery::from_static("/"));
            *request.uri_mut() = Uri::from_parts(parts)?;
            if let Some(token) = token {
                request.headers_mut().insert(AUTHORIZATION, token);
            }
            let again = again(&request);
            match (pool.request(request).await, again) {
                (Err(error), Some(again)) if !error.is_connect() => {
                    // Its server went away while it was asked; another may have the answer.
                    Ok(pool.request(again).await?)
                }
                (answered, _) => Ok(answered?),
            }
        })
    }
}

#[cfg(test)]
mod tests;
