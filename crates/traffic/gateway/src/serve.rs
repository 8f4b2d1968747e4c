//! One request from its head to its answer: look up its target, choose an endpoint, pass it on, try another where nothing was lost.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue, LOCATION, UPGRADE};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;

use crate::body::Out;
use crate::headers::{self, Asker};
use crate::page::{Trouble, page};
use crate::routes::{Backend, Fault, Found, Protocol, Routes, Target, To, stripped};
use crate::upstream::{self, Answer, Failure, Framing, Head, Outgoing, Pool, Switched};

/// How often a request is tried before the client is told.
const TRIES: usize = 3;

/// What one worker serves with.
pub(crate) struct Desk {
    pub(crate) routes: Arc<ArcSwap<Routes>>,
    pub(crate) ports: Ports,
    pub(crate) pool: Arc<Pool>,
    /// How long an endpoint may take to begin its answer, and a client to send or take the next piece.
    pub(crate) patience: Duration,
}

/// The ports at which is listened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) http: Option<u16>,
    pub(crate) https: Option<u16>,
}

/// Where a request came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    pub(crate) from: IpAddr,
    pub(crate) is_secure: bool,
}

impl Desk {
    pub(crate) async fn answer(&self, mut request: Request<Incoming>, came: Came) -> Response<Out> {
        let switching = headers::upgrade(request.headers()).cloned();
        let switching = switching.map(|protocol| (protocol, hyper::upgrade::on(&mut request)));
        let (parts, body) = request.into_parts();
        match self.pass_on(&parts, body, switching, came).await {
            Ok(answer) => answer,
            Err(trouble) => page(&trouble, &parts.headers),
        }
    }

    async fn pass_on(
        &self,
        parts: &Parts,
        body: Incoming,
        switching: Option<(HeaderValue, OnUpgrade)>,
        came: Came,
    ) -> Result<Response<Out>, Trouble> {
        let host = host(parts).map_err(Trouble::BadRequest)?;
        let path = parts.uri.path();
        let whole = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let name = name(host);
        let target = match self.routes.load().find(&name, path) {
            Found::Target(target) => target.clone(),
            Found::NoHost => return Err(Trouble::NoHost { host: name.into_owned() }),
            Found::NoPath => return Err(Trouble::NoPath { host: name.into_owned(), path: path.to_owned() }),
        };
        if target.is_https_only && !came.is_secure {
            return Ok(to_https(host, self.ports, whole));
        }
        let at = || (name.clone().into_owned(), path.to_owned());
        let backend = match &target.to {
            To::Service(backend) => backend,
            To::Resource(resource) => {
                let (host, path) = at();
                return Err(Trouble::NotAService { host, path, resource: resource.clone() });
            }
        };
        if let Some(fault) = backend.fault {
            let ((host, path), service) = (at(), backend.name());
            return Err(match fault {
                Fault::NoService => Trouble::NoService { host, path, service },
                Fault::NoPort => Trouble::NoPort { host, path, service },
                Fault::NoEndpoints => Trouble::NoEndpoints { host, path, service },
            });
        }
        let asker = Asker { address: came.from, is_secure: came.is_secure, host };
        let call = Call { parts, asker, target: stripped(whole, target.strip) };
        let answered = match backend.protocol {
            Protocol::Http1 => self.near(backend, &call, body, switching).await,
            Protocol::Http2 => self.far(backend, &call, body).await,
        };
        answered.map_err(|failure| trouble(&failure, &name, path, backend))
    }

    /// Where a request goes for which nothing has to be said first.
    pub(crate) fn target(&self, host: &str, path: &str, came: Came) -> Option<Arc<Target>> {
        match self.routes.load().find(&name(host), path) {
            Found::Target(target) if came.is_secure || !target.is_https_only => Some(target.clone()),
            _ => None,
        }
    }

    async fn near(
        &self,
        backend: &Backend,
        call: &Call<'_>,
        body: Incoming,
        switching: Option<(HeaderValue, OnUpgrade)>,
    ) -> Result<Response<Out>, Failure> {
        let framing = Framing::of(&body);
        let is_head = call.parts.method == Method::HEAD;
        let protocol = switching.as_ref().map(|(protocol, _)| protocol);
        let head = call.head(framing, protocol);
        let mut out = Outgoing::new(head, body, framing, is_head);
        match self.pass(backend, &mut out, call.parts.method.is_idempotent()).await? {
            Answer::Whole(head, relay) => Ok(answered(head, Out::Near(relay))),
            Answer::Switched(head, switched) => Ok(switch(head, switched, switching)),
        }
    }

    /// Passes a request on, and again to another endpoint where nothing was lost.
    pub(crate) async fn pass(
        &self,
        backend: &Backend,
        out: &mut Outgoing,
        is_idempotent: bool,
    ) -> Result<Answer, Failure> {
        let mut tried: Vec<SocketAddr> = Vec::new();
        let mut last = None;
        for _ in 0..TRIES {
            let Some(place) = self.pool.choose(backend, &tried) else { break };
            let address = place.address;
            let conn = match self.pool.connect(place).await {
                Ok(conn) => conn,
                Err(failure) => {
                    tried.push(address);
                    last = Some(failure);
                    continue;
                }
            };
            let is_reused = conn.is_reused;
            if !is_reused {
                tried.push(address);
            }
            match upstream::exchange(conn, out, self.patience).await {
                Ok(answer) => return Ok(answer),
                // What may have been done must not be done twice, and what is gone cannot be sent again.
                Err(failure @ Failure::Broken { .. }) if is_idempotent && out.is_whole() => {
                    // If one that waited was closed, so were probably all that wait.
                    if is_reused {
                        self.pool.close_idle(address);
                    }
                    last = Some(failure);
                }
                Err(failure) => return Err(failure),
            }
        }
        Err(last.unwrap_or(Failure::Silent { to: SocketAddr::from(([0, 0, 0, 0], 0)) }))
    }

    async fn far(
        &self,
        backend: &Backend,
        call: &Call<'_>,
        body: Incoming,
    ) -> Result<Response<Out>, Failure> {
        let mut request = Some(call.request(body));
        let mut tried: Vec<SocketAddr> = Vec::new();
        let mut last = None;
        while let Some(unsent) = request.take() {
            let Some(place) = self.pool.choose(backend, &tried) else { break };
            tried.push(place.address);
            match upstream::call(&self.pool, place, unsent, self.patience).await {
                Ok((answer, busy)) => {
                    let (mut parts, body) = answer.into_parts();
                    parts.version = Version::default();
                    return Ok(Response::from_parts(parts, Out::Far { body, _busy: busy }));
                }
                Err(refused) => {
                    request = refused.unsent.filter(|_| tried.len() < TRIES);
                    last = Some(refused.failure);
                }
            }
        }
        Err(last.unwrap_or(Failure::Silent { to: SocketAddr::from(([0, 0, 0, 0], 0)) }))
    }
}

/// A request as it is passed on.
struct Call<'a> {
    parts: &'a Parts,
    asker: Asker<'a>,
    target: [&'a str; 2],
}

impl Call<'_> {
    fn head(&self, framing: Framing, protocol: Option<&HeaderValue>) -> BytesMut {
        let headers = &self.parts.headers;
        let mut kept = Cow::Borrowed(headers);
        if headers.contains_key(CONNECTION) {
            headers::remove_listed(kept.to_mut(), headers.get_all(CONNECTION).iter());
        }
        // Some servers want a length for whatever could have a body.
        let is_said = framing == Framing::Nothing && kept.contains_key(CONTENT_LENGTH);
        let framing = if is_said { Framing::Length(0) } else { framing };
        let mut head = BytesMut::with_capacity(512 + kept.len() * 48);
        let kept = kept.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let method = self.parts.method.as_str();
        headers::write(method, self.target, kept, &self.asker, framing, protocol, &mut head);
        head
    }

    fn request(&self, body: Incoming) -> Request<Incoming> {
        let mut request = Request::new(body);
        *request.method_mut() = self.parts.method.clone();
        *request.version_mut() = Version::HTTP_2;
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Authority::try_from(self.asker.host).ok();
        uri.path_and_query = PathAndQuery::try_from(self.target.concat()).ok();
        *request.uri_mut() = Uri::from_parts(uri).unwrap_or_default();
        let mut kept = self.parts.headers.clone();
        headers::remove_listed(&mut kept, self.parts.headers.get_all(CONNECTION).iter());
        // Whether trailers are wanted is listed as of this connection, but is asked of the other end.
        if let Some(te) = self.parts.headers.get(http::header::TE) {
            kept.insert(http::header::TE, te.clone());
        }
        headers::told(&mut kept, &self.asker);
        *request.headers_mut() = kept;
        request
    }
}

/// What the client is told of it.
pub(crate) fn trouble(failure: &Failure, host: &str, path: &str, backend: &Backend) -> Trouble {
    let (host, path, service) = (name(host).into_owned(), path.to_owned(), backend.name());
    let cause = std::error::Error::source(failure).map(ToString::to_string).unwrap_or_default();
    tracing::debug!("{host}{path}: {service}: {failure}: {cause}");
    match failure {
        Failure::Silent { .. } => Trouble::Silent { host, path, service },
        _ => Trouble::Unreachable { host, path, service },
    }
}

fn answered(head: Head, body: Out) -> Response<Out> {
    let mut answer = Response::new(body);
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    answer
}

/// Joins the two ends once the client has been told.
pub(crate) fn switch(
    head: Head,
    switched: Switched,
    switching: Option<(HeaderValue, OnUpgrade)>,
) -> Response<Out> {
    let protocol = head.upgrade.clone();
    let mut answer = answered(head, Out::page(Bytes::new()));
    let Some((asked, client)) = switching else {
        // Nobody asked for it, and what it says is about something else than this answer.
        *answer.status_mut() = StatusCode::BAD_GATEWAY;
        answer.headers_mut().clear();
        return answer;
    };
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    answer.headers_mut().insert(UPGRADE, protocol.unwrap_or(asked));
    tokio::spawn(async move {
        let Switched { mut stream, said, busy } = switched;
        let Ok(client) = client.await else { return };
        let mut client = TokioIo::new(client);
        if client.write_all(&said).await.is_ok() {
            // Whichever end breaks off, the other learns it by the end of its own connection.
            let _ended = tokio::io::copy_bidirectional(&mut client, &mut stream).await;
        }
        drop(busy);
    });
    answer
}

fn to_https(host: &str, ports: Ports, path: &str) -> Response<Out> {
    let mut answer = Response::new(Out::page(Bytes::new()));
    *answer.status_mut() = StatusCode::PERMANENT_REDIRECT;
    if let Ok(location) = HeaderValue::try_from(format!("https://{}{path}", secure(host, ports))) {
        answer.headers_mut().insert(LOCATION, location);
    }
    answer
}

/// Where HTTPS is served for who asked this host. Who did not ask at our own port came by somebody who leads him here, and leads him to
/// HTTPS where it usually is.
fn secure(host: &str, ports: Ports) -> String {
    let (name, asked) = (name(host), port(host).unwrap_or(80));
    match ports.https.filter(|https| ports.http == Some(asked) && *https != 443) {
        Some(https) => format!("{name}:{https}"),
        None => name.into_owned(),
    }
}

/// The host that is asked, as it was written. A request that could mean two is refused.
fn host(parts: &Parts) -> Result<&str, &'static str> {
    if parts.method == Method::CONNECT {
        return Err("CONNECT is not served here");
    }
    let mut named = parts.headers.get_all(HOST).iter();
    let first = named.next();
    if named.next().is_some() {
        return Err("it names several hosts");
    }
    match (parts.uri.authority(), first) {
        (Some(authority), _) => Ok(authority.as_str().rsplit('@').next().unwrap_or_default()),
        (None, Some(host)) => host.to_str().map_err(|_| "its host is no name"),
        (None, None) if parts.version == Version::HTTP_11 => Err("it names no host"),
        (None, None) => Ok(""),
    }
}

/// Without its port and a dot at its end, in lower case.
pub(crate) fn name(host: &str) -> Cow<'_, str> {
    let bare = match host.rfind(':') {
        // An address of the sixth version has colons, but within brackets.
        Some(colon) if !host[colon..].contains(']') => &host[..colon],
        _ => host,
    };
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    match bare.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => bare.to_ascii_lowercase().into(),
        false => bare.into(),
    }
}

/// The port that a host is written with.
fn port(host: &str) -> Option<u16> {
    host.rsplit_once(':').and_then(|(_, port)| port.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_is_where_it_is_listened_to() {
        let ports = |http, https| Ports { http, https };
        for (asked, ports, expected) in [
            ("x.io", ports(Some(80), Some(443)), "x.io"),
            ("X.io:80", ports(Some(80), Some(443)), "x.io"),
            ("x.io", ports(Some(80), Some(8443)), "x.io:8443"),
            ("x.io:8080", ports(Some(8080), Some(8443)), "x.io:8443"),
            ("[::1]:8080", ports(Some(8080), Some(8443)), "[::1]:8443"),
            ("x.io:8080", ports(Some(8080), Some(443)), "x.io"),
            // Somebody in front leads port 80 to ours, and 443 too.
            ("x.io", ports(Some(8080), Some(8443)), "x.io"),
            ("x.io", ports(Some(80), None), "x.io"),
        ] {
            assert_eq!(secure(asked, ports), expected, "{asked} {ports:?}");
        }
    }

    #[test]
    fn hosts_are_compared_as_names() {
        for (written, expected) in [
            ("x.io", "x.io"),
            ("X.Io:8080", "x.io"),
            ("x.io.", "x.io"),
            ("x.io.:80", "x.io"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("", ""),
            (":80", ""),
        ] {
            assert_eq!(name(written), expected, "{written}");
        }
    }

    #[test]
    fn a_request_has_one_host() {
        let request = |uri: &str, hosts: &[&str], version| {
            let mut request = Request::builder().uri(uri).version(version);
            for host in hosts {
                request = request.header(HOST, *host);
            }
            request.body(()).unwrap().into_parts().0
        };
        for (case, parts, expected) in [
            ("usual", request("/x", &["a.io"], Version::HTTP_11), Ok("a.io")),
            ("in the target", request("http://b.io:8/x", &["a.io"], Version::HTTP_11), Ok("b.io:8")),
            ("none", request("/x", &[], Version::HTTP_11), Err("it names no host")),
            ("none, long ago", request("/x", &[], Version::HTTP_10), Ok("")),
            ("two", request("/x", &["a.io", "b.io"], Version::HTTP_11), Err("it names several hosts")),
        ] {
            assert_eq!(host(&parts), expected, "{case}");
        }
    }
}
