//! `proxy`: the API on a plain port or socket of this machine, for programs that cannot show a certificate. Whoever reaches it is us,
//! so by default it answers only those who ask for this machine by its name, and starts nothing in pods.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use http::header::{CONNECTION, CONTENT_TYPE, HOST};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use regex::RegexSet;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use crate::args::{Command, Flag, Part, Typed, switch, value};
use crate::client::Api;
use crate::error::CliError;
use crate::session::Session;

const FLAGS: &[Flag] = &[
    value("port", "PORT", "The port to listen at [default: 8001]; 0 is any").or('p'),
    value("address", "IP", "The address to listen at [default: 127.0.0.1]"),
    value("unix-socket", "PATH", "A socket to listen at instead").or('u'),
    value("api-prefix", "PATH", "Where the API begins [default: /]"),
    value("accept-hosts", "PATTERNS", "Hosts to answer for"),
    value("accept-paths", "PATTERNS", "Paths to pass on"),
    value("reject-paths", "PATTERNS", "Paths not to pass on, whatever else is said"),
    value("reject-methods", "PATTERNS", "Methods not to pass on"),
    switch("disable-filter", "Pass everything on: whoever reaches the port is you"),
    value("keepalive", "DURATION", "Taken and ignored"),
    switch("append-server-path", "Taken and ignored"),
];

pub(crate) static COMMAND: Command = Command {
    name: "proxy",
    about: "Serve the API on a plain port of this machine",
    examples: &["proxy --port=8011", "proxy --unix-socket=/tmp/kubectl.sock"],
    flags: &[FLAGS],
    part: Part::Run,
    run: Some(|session, typed| Box::pin(run(session, typed))),
    ..Command::EMPTY
};

/// What is passed on.
struct Rules {
    prefix: String,
    hosts: RegexSet,
    paths: RegexSet,
    not_paths: RegexSet,
    not_methods: RegexSet,
    all: bool,
}

impl Rules {
    fn of(typed: &Typed) -> Result<Self, CliError> {
        let set = |flag: &str, otherwise: &str| {
            let patterns = typed.text(flag).unwrap_or(otherwise);
            RegexSet::new(patterns.split(',')).map_err(|error| CliError::usage(format!("--{flag}: {error}")))
        };
        Ok(Self {
            prefix: typed.text("api-prefix").unwrap_or("/").trim_end_matches('/').to_owned(),
            hosts: set("accept-hosts", r"^localhost$,^127\.0\.0\.1$,^\[::1\]$")?,
            paths: set("accept-paths", "^.*")?,
            not_paths: set("reject-paths", "^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach")?,
            not_methods: set("reject-methods", "^$")?,
            all: typed.is("disable-filter"),
        })
    }

    fn allow(&self, method: &str, host: &str, path: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.chars().all(|digit| digit.is_ascii_digit()) => name,
            _ => host,
        };
        self.all
            || (self.hosts.is_match(name)
                && self.paths.is_match(path)
                && !self.not_paths.is_match(path)
                && !self.not_methods.is_match(method))
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

enum Listener {
    Port(TcpListener),
    Socket(UnixListener),
}

impl Listener {
    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Port(listener) => Box::new(listener.accept().await?.0),
            Self::Socket(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

async fn run(session: &Session<'_>, typed: &Typed) -> Result<(), CliError> {
    let rules = Rules::of(typed)?;
    let api = session.api().await?;
    let wrong = |source| CliError::Io { what: "listen".to_owned(), source };
    let (listener, place) = match typed.text("unix-socket") {
        Some(path) => (Listener::Socket(UnixListener::bind(path).map_err(wrong)?), path.to_owned()),
        None => {
            let port = typed.number("port")?.unwrap_or(8001);
            let asked = format!("{}:{port}", typed.text("address").unwrap_or("127.0.0.1"));
            let listener = TcpListener::bind(&asked).await.map_err(wrong)?;
            let place = listener.local_addr().map_or(asked, |place| place.to_string());
            (Listener::Port(listener), place)
        }
    };
    if typed.is("disable-filter") && !typed.given("unix-socket") {
        session.screen.warn(
            "Warning: request filter disabled, your proxy is vulnerable to XSRF attacks, please be cautious",
        );
    }
    session.screen.line(&format!("Starting to serve on {place}"))?;
    let mut open = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => open.push(serve(accepted.map_err(wrong)?, api, &rules)),
            Some(()) = open.next() => {}
        }
    }
}

async fn serve(stream: Box<dyn Stream>, api: &Api, rules: &Rules) {
    let answer =
        service_fn(move |request| async move { Ok::<_, Infallible>(answer(api, rules, request).await) });
    // Whoever hangs up in the middle needs no answer.
    let _ended =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}

async fn answer(api: &Api, rules: &Rules, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let whole = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let Some(path) = whole.strip_prefix(&rules.prefix).filter(|path| path.starts_with('/')) else {
        return said(StatusCode::NOT_FOUND, "404 page not found\n");
    };
    if !rules.allow(parts.method.as_str(), host, path.split('?').next().unwrap_or_default()) {
        return said(StatusCode::FORBIDDEN, "Forbidden\n");
    }
    let Ok(body) = body.collect().await else {
        return said(StatusCode::BAD_REQUEST, "the request broke off\n");
    };
    let mut passed = Request::builder().method(parts.method).uri(path);
    for (name, value) in parts.headers.iter().filter(|(name, _)| *name != HOST && *name != CONNECTION) {
        passed = passed.header(name, value);
    }
    let Ok(passed) = passed.body(Body::from(body.to_bytes())) else {
        return said(StatusCode::BAD_REQUEST, "this cannot be passed on\n");
    };
    api.pass(passed)
        .await
        .unwrap_or_else(|error| said(StatusCode::BAD_GATEWAY, &format!("{}\n", error.told())))
}

fn said(code: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use regex::RegexSet;

    use super::Rules;

    #[test]
    fn only_harmless_requests_to_this_machine_pass() {
        let set = |patterns: &str| RegexSet::new(patterns.split(',')).unwrap();
        let rules = Rules {
            prefix: String::new(),
            hosts: set(r"^localhost$,^127\.0\.0\.1$,^\[::1\]$"),
            paths: set("^.*"),
            not_paths: set("^/api/.*/pods/.*/exec"),
            not_methods: set("^$"),
            all: false,
        };
        for (method, host, path, passes) in [
            ("GET", "localhost:8001", "/api/v1/pods", true),
            ("GET", "127.0.0.1", "/version", true),
            ("GET", "[::1]:8001", "/version", true),
            ("GET", "evil.example:8001", "/version", false),
            ("GET", "127.0.0.1.evil.example", "/version", false),
            ("POST", "localhost", "/api/v1/namespaces/a/pods/b/exec", false),
        ] {
            assert_eq!(rules.allow(method, host, path), passes, "{method} {host} {path}");
        }
    }
}
