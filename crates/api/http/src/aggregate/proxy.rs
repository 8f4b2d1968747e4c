//! Hands a request on to an extension server, saying for whom. Reads neither it nor its answer.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use kedge_registry::User;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::Remote;
use crate::answer::{self, Answer};
use crate::api::Api;
use crate::proxy::{self, Asking};
use crate::router::Incoming;

/// What can't stand in a header's name.
const UNNAMEABLE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'%')
    .add(b'(')
    .add(b')')
    .add(b',')
    .add(b'/')
    .add(b':')
    .add(b';')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?')
    .add(b'@')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'{')
    .add(b'}');

pub(crate) async fn forward(
    api: &Api,
    remote: &Remote,
    user: &User,
    asking: Asking<'_>,
    body: Incoming,
) -> Answer {
    if !remote.available {
        return answer::text(503, "service unavailable\n");
    }
    let aggregation = api.aggregation();
    let target = aggregation.target(remote, api.clock().now());
    let mut request = asking.outward(body);
    introduce(request.headers_mut(), user);
    let back = asking.back(api.stopping());
    let answered = proxy::exchange(&aggregation.reach, &target, request, back).await;
    answered.unwrap_or_else(|error| {
        answer::text(503, format!("error trying to reach service: {}\n", error.cause))
    })
}

/// Says who asks.
fn introduce(headers: &mut HeaderMap, user: &User) {
    for (name, value) in identity(user) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
}

/// How a user is told to an extension server.
pub(super) fn identity(user: &User) -> Vec<(String, String)> {
    let mut told = vec![("x-remote-user".to_owned(), user.name.clone())];
    if !user.uid.is_empty() {
        told.push(("x-remote-uid".to_owned(), user.uid.clone()));
    }
    told.extend(user.groups.iter().map(|group| ("x-remote-group".to_owned(), group.clone())));
    for (key, values) in &user.extra {
        let key = utf8_percent_encode(&key.to_lowercase(), UNNAMEABLE).to_string();
        told.extend(values.iter().map(|value| (format!("x-remote-extra-{key}"), value.clone())));
    }
    told
}
