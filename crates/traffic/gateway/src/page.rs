//! The small pages that the gateway writes itself, for people who wonder why nobody answers.

use std::fmt;

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode};

use crate::body::Out;

/// Why the gateway answers itself. What it says names the host, the path and the Service, whichever it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    NoHost { host: String },
    NoPath { host: String, path: String },
    NoEndpoints { host: String, path: String, service: String },
    NoService { host: String, path: String, service: String },
    NoPort { host: String, path: String, service: String },
    NotAService { host: String, path: String, resource: String },
    Unreachable { host: String, path: String, service: String },
    Silent { host: String, path: String, service: String },
    BadRequest(&'static str),
}

impl Trouble {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoHost { .. } | Self::NoPath { .. } => StatusCode::NOT_FOUND,
            Self::NoEndpoints { .. }
            | Self::NoService { .. }
            | Self::NoPort { .. }
            | Self::NotAService { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable { .. } => StatusCode::BAD_GATEWAY,
            Self::Silent { .. } => StatusCode::GATEWAY_TIMEOUT,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHost { host } if host.is_empty() => {
                f.write_str("The request names no host, and nobody serves those.")
            }
            Self::NoHost { host } => {
                write!(f, "Nobody serves the host {host}: no Ingress and no DNSRecord names it.")
            }
            Self::NoPath { host, path } => write!(f, "The host {host} has nothing at {path}."),
            Self::NoEndpoints { host, path, service } => {
                write!(f, "{host}{path} leads to {service}, of which no pod is ready.")
            }
            Self::NoService { host, path, service } => {
                write!(f, "{host}{path} leads to {service}, which does not exist.")
            }
            Self::NoPort { host, path, service } => {
                write!(f, "{host}{path} leads to {service}, but the Service has no such port.")
            }
            Self::NotAService { host, path, resource } => {
                write!(f, "{host}{path} leads to {resource}, which is no Service.")
            }
            Self::Unreachable { host, path, service } => {
                write!(f, "{host}{path} leads to {service}, whose pods could not be reached or broke off.")
            }
            Self::Silent { host, path, service } => {
                write!(f, "{host}{path} leads to {service}, which did not answer in time.")
            }
            Self::BadRequest(why) => write!(f, "The request cannot be passed on: {why}."),
        }
    }
}

/// As the client would like to read it.
pub(crate) fn page(trouble: &Trouble, asked: &HeaderMap) -> Response<Out> {
    let status = trouble.status();
    let is_html = asked
        .get_all(ACCEPT)
        .iter()
        .any(|accept| accept.as_bytes().windows(9).any(|part| part.eq_ignore_ascii_case(b"text/html")));
    let reason = status.canonical_reason().unwrap_or_default();
    let (content_type, text) = if is_html {
        let (code, why) = (status.as_u16(), escaped(&trouble.to_string()));
        let text = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{code} {reason}</title></head>\n\
             <body><h1>{code} {reason}</h1><p>{why}</p><hr><p>kedge gateway</p></body></html>\n"
        );
        ("text/html; charset=utf-8", text)
    } else {
        ("text/plain; charset=utf-8", format!("{} {reason}: {trouble}\n", status.as_u16()))
    };
    let mut answer = Response::new(Out::page(Bytes::from(text)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // What is missing now may be there in a moment.
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Hosts and paths are whatever a client sends.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_which_and_trusts_nobody() {
        let trouble = Trouble::NoPath { host: "x.io".to_owned(), path: "/<script>".to_owned() };
        let mut asked = HeaderMap::new();
        let plain = page(&trouble, &asked);
        assert_eq!(
            (plain.status().as_u16(), &plain.headers()[CONTENT_TYPE]),
            (404, &HeaderValue::from_static("text/plain; charset=utf-8"))
        );
        assert_eq!(
            plain.into_body().into_page().unwrap(),
            "404 Not Found: The host x.io has nothing at /<script>.\n"
        );
        asked.insert(ACCEPT, HeaderValue::from_static("application/xhtml+xml, Text/HTML;q=0.9"));
        let html = page(&trouble, &asked).into_body().into_page().unwrap();
        assert!(String::from_utf8_lossy(&html).contains("at /&lt;script&gt;."), "{html:?}");
    }
}
