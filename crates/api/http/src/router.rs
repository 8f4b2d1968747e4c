//! The whole API as one service: a request in, an answer out, with or without a socket. Nothing else serves the API.
//! Walk: step 2. Before it a connection or the in-process client, after it `api/registry`.

use std::any::Any;
use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use futures::FutureExt;
use http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, HeaderName, HeaderValue, USER_AGENT, VARY,
};
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use kedge_kinds::Status;
use kedge_registry::{Registry, User};

use crate::answer::{self, Answer};
use crate::api::{Api, Options, Patience, StartError};
use crate::audit::Trail;
use crate::body::Body;
use crate::call::{Call, Verb};
use crate::fairness::{Asked, Target};
use crate::proxy::{Asking, Caller};
use crate::query::Query;
use crate::rbac::{Ask, What};
use crate::turn::InHand;
use crate::who::Peer;
use crate::{
    aggregate, connect, content, documents, fairness, health, impersonate, issuer, media, metrics, path,
    rbac, verbs, who,
};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// None if it is known to be empty, as most are.
pub(crate) type Incoming = Option<UnsyncBoxBody<Bytes, BoxError>>;

/// Serves the API to one peer. Clones share everything but the peer.
#[derive(Clone)]
pub struct Router {
    api: Arc<Api>,
    peer: Arc<Peer>,
    /// The peer's connection.
    caller: Option<Caller>,
}

/// The API on a registry. The router it gives knows nobody; see [`Router::acting_as`].
pub fn router(registry: Registry, options: Options) -> Result<Router, StartError> {
    Ok(Router { api: Api::new(registry, options)?, peer: Arc::default(), caller: None })
}

impl Router {
    /// The same API, used by a part of this process.
    #[must_use]
    pub fn acting_as(&self, user: User) -> Self {
        self.for_peer(Peer::Inside(user.into()))
    }

    /// The same API, used by whoever is at the other end of a connection.
    #[must_use]
    pub fn for_peer(&self, peer: Peer) -> Self {
        Self { api: self.api.clone(), peer: peer.into(), caller: self.caller.clone() }
    }

    /// The same API, used over a connection from there. `held` is kept as long as anything uses it.
    pub(crate) fn from(&self, address: IpAddr, held: Arc<dyn Any + Send + Sync>) -> Self {
        Self { caller: Some(Caller { from: Some(address), _held: Some(held) }), ..self.clone() }
    }

    /// Ends every watch, so that connections can be closed; nothing else changes.
    pub fn stop(&self) {
        self.api.stop();
    }

    pub(crate) fn api(&self) -> &Arc<Api> {
        &self.api
    }

    pub(crate) fn patience(&self) -> Patience {
        self.api.patience()
    }

    pub(crate) fn most_connections(&self) -> u32 {
        self.api.most_connections()
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.api.clock().now()
    }

    async fn respond(self, parts: Parts, body: Incoming) -> Answer {
        let started = Instant::now();
        let _in_hand = InHand::new();
        let from = self.caller.as_ref().and_then(|caller| caller.from);
        let mut labels = Labels::of(&parts);
        let id = audit_id(&parts);
        labels.trail = self
            .api
            .audit()
            .map(|audit| Box::new(audit.begin(id.to_str().unwrap_or_default(), &parts, from)));
        let handled = AssertUnwindSafe(handle(&self, &parts, body, &mut labels)).catch_unwind().await;
        let (mut failed, mut panicked) = (None, false);
        let mut answer = match handled {
            Ok(Ok(answer)) => answer,
            Ok(Err(status)) => {
                let answer = answer::failure(&status, media::failure_format(&parts.headers));
                failed = Some(status);
                answer
            }
            Err(_) => {
                self.api.metrics().panicked();
                tracing::error!(method = %parts.method, path = parts.uri.path(), "a handler panicked");
                panicked = true;
                answer::failure(&Status::internal("the request could not be handled"), media::Format::Json)
            }
        };
        if let Some(trail) = labels.trail.take() {
            trail.answered(&mut answer, failed.as_ref(), panicked);
        }
        if let Some(flow) = &labels.flow {
            flow.tell(answer.headers_mut());
        }
        finish(&parts, &mut answer, id);
        self.api.metrics().answered(labels.with_code(answer.status().as_u16()), started.elapsed());
        answer
    }
}

impl<B> tower::Service<Request<B>> for Router
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let body = (!body.is_end_stream()).then(|| body.map_err(Into::into).boxed_unsync());
        self.clone().respond(parts, body).map(Ok).boxed()
    }
}

/// What the counters call a request, and where it belonged.
struct Labels {
    flow: Option<fairness::Place>,
    verb: &'static str,
    group: Arc<str>,
    version: Arc<str>,
    resource: Arc<str>,
    subresource: Arc<str>,
    /// For the audit log, if there is one.
    trail: Option<Box<Trail>>,
}

impl Labels {
    fn of(parts: &Parts) -> Self {
        let verb = match parts.method {
            Method::GET | Method::HEAD => "GET",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        let none: Arc<str> = Arc::default();
        Self {
            flow: None,
            verb,
            group: none.clone(),
            version: none.clone(),
            resource: none.clone(),
            subresource: none,
            trail: None,
        }
    }

    fn with_code(self, code: u16) -> metrics::Request {
        let Self { verb, group, version, resource, subresource, .. } = self;
        metrics::Request { verb, group, version, resource, subresource, code }
    }
}

async fn handle(
    router: &Router,
    parts: &Parts,
    body: Incoming,
    labels: &mut Labels,
) -> Result<Answer, Status> {
    let (api, peer) = (&router.api, &*router.peer);
    let asking = Asking { parts, caller: router.caller.as_ref() };
    let path = parts.uri.path();
    let query = Query::parse(parts.uri.query());
    let sender = who::authenticate(api, peer, &parts.headers).await?;
    let user = impersonate::acting(api, sender.clone(), parts, &query)?;
    if let Some(trail) = &mut labels.trail {
        trail.by(&sender, &user);
    }

    let Some(place) = path::parse(path) else {
        let verb = parts.method.as_str().to_ascii_lowercase();
        let flow = api.fairness().place(&user, &Asked { verb: &verb, target: Target::Path(path) });
        labels.flow = Some(flow.clone());
        let ask = Ask { verb: &verb, what: What::Path(path) };
        note(api, labels, &sender, &user, &ask, "", "");
        api.allow(&user, &ask)?;
        let _seat = if is_inside(peer) { None } else { flow.seat().await? };
        if let Some(remote) = aggregate::answers(api, path) {
            return Ok(Box::pin(aggregate::forward(api, &remote, &user, asking, body)).await);
        }
        return Box::pin(document(api, parts, &query)).await;
    };
    let verb = Verb::of(&parts.method, &place, &query).ok_or_else(verbs::method_not_allowed)?;
    let writes = verb.writes();
    let connects = place.subresource.as_deref().is_some_and(connect::is_connection);
    let long = verb == Verb::Watch || connects;

    let target = Target::Resource {
        group: &place.group,
        resource: &place.resource,
        subresource: place.subresource.as_deref().unwrap_or(""),
        namespace: place.namespace.as_deref().unwrap_or(""),
    };
    let flow = api.fairness().place(&user, &Asked { verb: verb.name(), target });
    labels.flow = Some(flow.clone());
    let name = match &place.name {
        Some(name) => name,
        None => selected_name(verb, &query),
    };
    let what = What::Resource {
        group: &place.group,
        resource: &place.resource,
        subresource: place.subresource.as_deref().unwrap_or(""),
        namespace: place.namespace.as_deref().unwrap_or(""),
        name,
    };
    let fields = query.get("fieldSelector").unwrap_or("");
    let ask = Ask { verb: verb.name(), what };
    note(api, labels, &sender, &user, &ask, fields, &place.version);
    api.allow_of(&user, &ask, fields)?;
    if let Some(remote) = api.aggregation().remote(&place.group, &place.version) {
        let _seat = if is_inside(peer) { None } else { flow.seat().await? };
        return Ok(Box::pin(aggregate::forward(api, &remote, &user, asking, body)).await);
    }

    let catalog = api.registry().catalog();
    let Some(kind) = catalog.kind(&place.group, &place.version, &place.resource) else {
        return verbs::no_such_place(&catalog, &place);
    };
    labels.verb = if connects { "CONNECT" } else { verb.label() };
    labels.group = kind.gv.group.clone();
    labels.version = kind.gv.version.clone();
    labels.resource = kind.plural.clone();
    let call = Call::new(kind.clone(), place, verb, user, query, &parts.headers)?;
    labels.subresource = call.at.subresource.clone().unwrap_or_default();

    // Whoever sends slowly holds up those of their own name only: a seat is taken when the body is here.
    let free = is_inside(peer) || rbac::is_master(&call.user);
    let mut passed = None;
    let body = match body {
        body if connects => {
            passed = body;
            Bytes::new()
        }
        Some(body) if writes && !long => {
            let share = if free { None } else { Some(Box::pin(api.limits().share(&call.user.name)).await?) };
            let body = Box::pin(content::read(body, api.patience().body)).await?;
            drop(share);
            body
        }
        _ => Bytes::new(),
    };
    if let Some(trail) = &mut labels.trail {
        trail.sent(&body, &call.content_type);
        trail.remarked(&call.remarks);
    }
    // A watch has its seat until it has begun; what is a connection to a node needs none.
    let seated = !is_inside(peer) && (!long || verb == Verb::Watch);
    let _seat = if seated { flow.seat().await? } else { None };
    let _counted = (!long).then(|| api.metrics().under_way(writes));
    let (remarks, format) = (call.remarks.clone(), call.output.format);
    let done = match connects {
        true => Box::pin(connect::answer(api, &call, asking, passed)).await,
        false => verbs::answer(api, call, body).await,
    };
    let warnings = remarks.take_warnings();
    if warnings.is_empty() {
        return done;
    }
    // Whoever is refused hears the warnings, too.
    let mut answer = done.unwrap_or_else(|status| answer::failure(&status, format));
    answer::warn(&mut answer, &warnings);
    Ok(answer)
}

/// Tells the audit log, if there is one, what is asked for and whether it is allowed.
fn note(
    api: &Api,
    labels: &mut Labels,
    sender: &User,
    user: &User,
    ask: &Ask<'_>,
    fields: &str,
    version: &str,
) {
    if let Some(trail) = &mut labels.trail {
        trail.about(sender, ask, version);
        trail.decided(&api.access().explain(user, ask, fields));
    }
}

/// Parts of this process wait for nobody: others may wait for them.
fn is_inside(peer: &Peer) -> bool {
    matches!(peer, Peer::Inside(_))
}

/// The one name that the request can reach by its selector; empty if it can reach others too.
fn selected_name(verb: Verb, query: &Query) -> &str {
    if !matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection) {
        return "";
    }
    let selected = query.get("fieldSelector").and_then(|fields| fields.strip_prefix("metadata.name="));
    selected.filter(|name| !name.contains([',', '/', '%', '=']) && !matches!(*name, "." | "..")).unwrap_or("")
}

/// Everything that is not an object: health, discovery, schemas, counters.
async fn document(api: &Api, parts: &Parts, query: &Query) -> Result<Answer, Status> {
    let path = parts.uri.path();
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        let mut answer = answer::text(405, "405 method not allowed\n");
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Ok(answer);
    }
    if let Some(answer) = health::answer(api, path, query).await {
        return Ok(answer);
    }
    match path.trim_end_matches('/') {
        "/version" => return Ok(health::version(api)),
        "/.well-known/openid-configuration" | "/openid/v1/jwks" => return issuer::answer(api, path),
        "/metrics" => {
            let text = api
                .metrics()
                .text(api.registry().store())
                .map_err(|error| Status::internal(error.to_string()))?;
            let text = format!("{text}{}# EOF\n", api.fairness().metrics());
            return Ok(answer::of(200, "application/openmetrics-text; version=1.0.0; charset=utf-8", text));
        }
        _ => {}
    }
    if let Some(answer) = documents::answer(api, parts).await? {
        return Ok(answer);
    }
    let mut segments = path.trim_matches('/').split('/');
    match (segments.next(), segments.next()) {
        (Some("api"), _) => verbs::no_such_group_or(&api.registry().catalog(), ""),
        (Some("apis"), Some(group)) => verbs::no_such_group_or(&api.registry().catalog(), group),
        _ => Ok(answer::text(404, "404 page not found\n")),
    }
}

/// What every answer has, whoever made it.
fn finish(parts: &Parts, answer: &mut Answer, id: HeaderValue) {
    let accepts = |encoding: &HeaderValue| encoding.to_str().is_ok_and(|text| text.contains("gzip"));
    let plain = !answer.headers().contains_key(CONTENT_ENCODING);
    if plain && parts.method == Method::GET && parts.headers.get_all(ACCEPT_ENCODING).iter().any(accepts) {
        let (body, compressed) = std::mem::take(answer.body_mut()).compressed();
        *answer.body_mut() = body;
        if compressed {
            answer.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            answer.headers_mut().append(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
    }
    if parts.method == Method::HEAD {
        *answer.body_mut() = Body::default();
    }
    answer.headers_mut().insert(&AUDIT_ID, id);
    answer.headers_mut().entry(CACHE_CONTROL).or_insert_with(|| NOT_KEPT.clone());
}

static NOT_KEPT: HeaderValue = HeaderValue::from_static("no-cache, private");
static AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// The one that the client gave, or a new one.
fn audit_id(parts: &Parts) -> HeaderValue {
    match parts.headers.get(&AUDIT_ID) {
        Some(id) => id.clone(),
        None => HeaderValue::from_str(new_id().as_hyphenated().encode_lower(&mut [0; 36]))
            .unwrap_or(HeaderValue::from_static("")),
    }
}

/// Unlike every other; nobody has to be unable to guess it, so the kernel is asked for chance only once.
fn new_id() -> uuid::Uuid {
    static FIRST: LazyLock<u128> = LazyLock::new(|| uuid::Uuid::new_v4().as_u128());
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // An odd factor visits every number once before it visits one twice.
    let step = u128::from(NEXT.fetch_add(1, Ordering::Relaxed))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    uuid::Builder::from_random_bytes(FIRST.wrapping_add(step).to_be_bytes()).into_uuid()
}

pub(crate) fn agent(headers: &http::HeaderMap) -> &str {
    headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("")
}
