//! Proxies: a request below `…/proxy/` goes to a pod, to a pod of a Service or to a node, as if the client had asked there. Knows what
//! must be changed on the way so that links still lead through us, and nothing else of what is said.

mod endpoints;
mod page;

use std::net::IpAddr;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, LOCATION,
};
use http::{Method, Uri};
use kedge_kinds::{Reason, Status};
use kedge_reach::{Place, Target};
use serde_json::Value;

use self::page::Page;
use super::{cannot_dial, nodes, object, stream};
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::call::Call;
use crate::proxy::{self, Asking};
use crate::router::Incoming;

static FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static FORWARDED_URI: HeaderName = HeaderName::from_static("x-forwarded-uri");

/// What follows `…/proxy` in a path: empty, or with the slash that it begins with.
pub(super) fn path<'p>(raw: &'p str, call: &Call) -> &'p str {
    let named =
        5 + usize::from(!call.at.kind.gv.group.is_empty()) + 2 * usize::from(call.at.namespace.is_some());
    let trimmed = raw.trim_start_matches('/');
    let end = trimmed.match_indices('/').nth(named - 1).map(|(at, _)| at);
    end.and_then(|at| trimmed.get(at..)).unwrap_or_default()
}

pub(super) async fn answer(
    api: &Api,
    call: &Call,
    path: &str,
    asking: Asking<'_>,
    body: Incoming,
) -> Result<Answer, Status> {
    let parts = asking.parts;
    let target = target(api, call).await?;
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let upgrades = asking.upgrades();
    if path.is_empty() && !upgrades && matches!(parts.method, Method::GET | Method::HEAD) {
        // Links on the page that follows are relative to a folder.
        return moved(&format!("{}/{query}", parts.uri.path()));
    }
    let prefix = parts.uri.path().strip_suffix(path).unwrap_or_default();
    let slash = if path.is_empty() { "/" } else { "" };
    let mut request = asking.outward(body.filter(|_| !upgrades));
    let place = format!("{path}{slash}{query}");
    *request.uri_mut() = place.parse::<Uri>().map_err(|error| Status::bad_request(error.to_string()))?;
    forwarded(request.headers_mut(), asking, prefix, path);
    if says(&parts.headers, &ACCEPT).contains(HTML) {
        // Links are found only in a page that is not compressed.
        request.headers_mut().remove(ACCEPT_ENCODING);
    }
    let reach = &api.connections().reach;
    let answered = proxy::exchange(reach, &target, request, asking.back(api.stopping())).await;
    if upgrades {
        return stream::upgraded(answered.map_err(|error| cannot_dial(&error))?);
    }
    let mut answer = answered.map_err(|error| unreachable(&error.cause.to_string()))?;
    let asked = says(&parts.headers, &HOST).to_owned();
    let server = authority(&target);
    let location = says(answer.headers(), &LOCATION);
    if !location.is_empty() {
        let location = rewritten(location, &server, &asked, prefix);
        if let Some(location) = location.and_then(|location| HeaderValue::from_str(&location).ok()) {
            answer.headers_mut().insert(LOCATION, location);
        }
        return Ok(answer);
    }
    let media = says(answer.headers(), &CONTENT_TYPE).split(';').next().unwrap_or_default();
    if media.trim().eq_ignore_ascii_case(HTML) && !answer.headers().contains_key(CONTENT_ENCODING) {
        let prefix = prefix.to_owned();
        let page = Page::new(Box::new(move |link| rewritten(link, &server, &asked, &prefix)));
        answer.headers_mut().remove(CONTENT_LENGTH);
        return Ok(answer.map(|body| body.changed(page, |page, piece| page.more(piece), Page::end)));
    }
    Ok(answer)
}

const HTML: &str = "text/html";

fn says<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn moved(location: &str) -> Result<Answer, Status> {
    let mut answer = answer::text(301, "");
    let location = HeaderValue::from_str(location).map_err(|error| Status::bad_request(error.to_string()))?;
    answer.headers_mut().insert(LOCATION, location);
    Ok(answer)
}

/// Tells the server what it was asked for under which name, and by whom.
fn forwarded(headers: &mut HeaderMap, asking: Asking<'_>, prefix: &str, path: &str) {
    if let Ok(uri) = HeaderValue::from_str(&format!("{prefix}{path}")) {
        headers.insert(FORWARDED_URI.clone(), uri);
    }
    let Some(from) = asking.caller.and_then(|caller| caller.from) else { return };
    let before = headers.get_all(&FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let all: Vec<String> = before.map(str::to_owned).chain([from.to_string()]).collect();
    if let Ok(all) = HeaderValue::from_str(&all.join(", ")) {
        headers.insert(FORWARDED_FOR.clone(), all);
    }
}

async fn target(api: &Api, call: &Call) -> Result<Target, Status> {
    let id = call.at.name.as_deref().unwrap_or_default();
    let what = &*call.at.kind.singular;
    let named =
        Named::read(id).ok_or_else(|| Status::bad_request(format!("invalid {what} request {id:?}")))?;
    match &*call.at.kind.plural {
        "nodes" => {
            let node = nodes::found(api, named.name)?;
            let (host, port) = nodes::place_of(&node)?;
            if named.port.is_empty() || named.port == port.to_string() {
                return api.connections().nodes.target(&node, false, api.clock().now());
            }
            allowed(&host)?;
            named.at(&host, named.number()?)
        }
        "services" => {
            let (host, port) = endpoints::chosen(api, call, &named).await?;
            named.at(&host, port)
        }
        _ => {
            let pod = object(api, call, named.name).await?;
            let host = address(&pod);
            allowed(host)?;
            let port = if named.port.is_empty() { first_port(&pod) } else { Some(named.number()?) };
            named.at(host, port.unwrap_or(if named.secure { 443 } else { 80 }))
        }
    }
}

/// `name`, `name:port` or `scheme:name:port`.
pub(super) struct Named<'n> {
    secure: bool,
    name: &'n str,
    port: &'n str,
}

impl<'n> Named<'n> {
    pub(super) fn read(id: &'n str) -> Option<Self> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme, name, port] => (*scheme, *name, *port),
            _ => return None,
        };
        let known = matches!(scheme, "" | "http" | "https") && !name.is_empty();
        known.then_some(Self { secure: scheme == "https", name, port })
    }

    fn number(&self) -> Result<u16, Status> {
        self.port
            .parse()
            .map_err(|_| unreachable(&format!("dial tcp: lookup tcp/{}: unknown port", self.port)))
    }

    /// Nobody knows whose certificates pods have, so none is checked.
    fn at(&self, host: &str, port: u16) -> Result<Target, Status> {
        Ok(Target {
            place: Place::Address { host: host.to_owned(), port, secure: self.secure, name: None },
            ca_bundle: None,
            identity: None,
            insecure_skip_verify: true,
        })
    }
}

fn unreachable(why: &str) -> Status {
    let message = format!("error trying to reach service: {why}");
    Status::new(503, Reason::ServiceUnavailable, message)
}

fn address(pod: &Value) -> &str {
    let first =
        pod["status"]["podIPs"].as_array().and_then(|all| all.first()).and_then(|one| one["ip"].as_str());
    first.or_else(|| pod["status"]["podIP"].as_str()).unwrap_or_default()
}

fn first_port(pod: &Value) -> Option<u16> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let mut ports = containers.filter_map(|one| one["ports"].as_array()?.first()?["containerPort"].as_u64());
    ports.next().and_then(|port| u16::try_from(port).ok())
}

/// What is reachable only from here is nobody's to reach through us.
fn allowed(host: &str) -> Result<(), Status> {
    let global = |address: IpAddr| match address {
        IpAddr::V4(v4) => {
            !(v4.is_unspecified()
                || v4.is_loopback()
                || v4.is_multicast()
                || v4.is_link_local()
                || v4.is_broadcast())
        }
        IpAddr::V6(v6) => {
            !(v6.is_unspecified() || v6.is_loopback() || v6.is_multicast() || v6.is_unicast_link_local())
        }
    };
    match host.parse::<IpAddr>() {
        Ok(address) if global(address.to_canonical()) => Ok(()),
        _ => Err(Status::bad_request("address not allowed")),
    }
}

fn authority(target: &Target) -> String {
    match &target.place {
        Place::Address { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
        Place::Address { host, port, .. } => format!("{host}:{port}"),
        Place::Url(_) | Place::Service { .. } => String::new(),
    }
}

/// A place on the same server, as it is called from outside; `None` for any other, and for one that needs no change.
pub(super) fn rewritten(location: &str, server: &str, asked: &str, prefix: &str) -> Option<String> {
    let (scheme, host, path) = match location.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (host, path) = rest.split_at(end);
            (scheme, host, path)
        }
        _ => ("", "", location),
    };
    let elsewhere = !host.is_empty() && host != server && host != asked;
    if elsewhere || !path.starts_with('/') || path.starts_with("//") {
        return None;
    }
    let origin = if host.is_empty() || host != asked { String::new() } else { format!("{scheme}://{host}") };
    let prefix = if path.starts_with(prefix) { "" } else { prefix };
    Some(format!("{origin}{prefix}{path}")).filter(|new| new != location)
}
