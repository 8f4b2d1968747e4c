//! URLs: what counts as one, and its parts.

use super::{Fun, first};
use crate::error::EvalError;
use crate::value::{Opaque, Value};

pub(crate) const SIGNATURES: &str = "
url string_to_url (string) url
isURL is_url_string (string) bool
getScheme url_get_scheme url.() string
getHost url_get_host url.() string
getHostname url_get_hostname url.() string
getPort url_get_port url.() string
getEscapedPath url_get_escaped_path url.() string
getQuery url_get_query url.() map(string,list(string))
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("url", |args| match first(args)? {
        Value::String(text) => match Url::parse(text) {
            Ok(url) => Ok(Value::opaque(Opaque::Url(url))),
            Err(why) => {
                Err(EvalError::function(format!("URL parse error during conversion from string: {why}")))
            }
        },
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("isURL", |args| match first(args)? {
        Value::String(text) => Ok(Value::Bool(Url::parse(text).is_ok())),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("getScheme", |args| Ok(Value::shared(&*of(args)?.scheme))),
    ("getHost", |args| Ok(Value::shared(&*of(args)?.host))),
    ("getHostname", |args| Ok(Value::shared(of(args)?.hostname()))),
    ("getPort", |args| Ok(Value::shared(of(args)?.port()))),
    ("getEscapedPath", |args| Ok(Value::shared(&*of(args)?.path))),
    ("getQuery", |args| {
        let mut entries: Vec<(String, Vec<Value<'_>>)> = Vec::new();
        for (key, value) in of(args)?.query() {
            match entries.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(Value::shared(value)),
                None => entries.push((key, vec![Value::shared(value)])),
            }
        }
        let entries =
            entries.into_iter().map(|(key, values)| (Value::shared(key), Value::list(values))).collect();
        Ok(super::map(entries))
    }),
];

fn of<'v>(args: &'v [Value<'_>]) -> Result<&'v Url, EvalError> {
    match first(args)? {
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Url(url) => Ok(url),
            _ => Err(EvalError::NoSuchOverload),
        },
        _ => Err(EvalError::NoSuchOverload),
    }
}

/// An absolute URL, or an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    user: String,
    host: String,
    /// As written, with what must be escaped escaped.
    path: String,
    query: Option<String>,
    fragment: Option<String>,
}

impl Url {
    /// What Go's `url.ParseRequestURI` accepts, with the fragment split off. The error is the text of Go's.
    pub(crate) fn parse(text: &str) -> Result<Url, String> {
        let fail = |why: &str| Err(format!("parse {text:?}: {why}"));
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return fail("net/url: invalid control character in URL");
        }
        if text.is_empty() {
            return fail("empty url");
        }
        let mut rest = text;
        let mut scheme = String::new();
        let end = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
            .unwrap_or(text.len());
        if text[end..].starts_with(':') {
            if end == 0 {
                return fail("missing protocol scheme");
            }
            if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
                scheme = text[..end].to_ascii_lowercase();
                rest = &text[end + 1..];
            } else if !text.starts_with('/') {
                return fail("first path segment in URL cannot contain colon");
            }
        }
        if scheme.is_empty() && !rest.starts_with('/') {
            return fail("invalid URI for request");
        }
        let (rest, fragment) = match rest.split_once('#') {
            Some((rest, fragment)) => (rest, Some(fragment.to_owned())),
            None => (rest, None),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(after) if !scheme.is_empty() || !rest.starts_with("///") => match after.find('/') {
                Some(slash) => (&after[..slash], &after[slash..]),
                None => (after, ""),
            },
            _ => ("", rest),
        };
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        check_host(host).map_err(|why| format!("parse {text:?}: {why}"))?;
        if let Some(bad) = bad_escape(path) {
            return fail(&format!("invalid URL escape {bad:?}"));
        }
        Ok(Url {
            scheme,
            user: user.to_owned(),
            host: host.to_owned(),
            path: escape_path(path),
            query,
            fragment,
        })
    }

    fn split_port(&self) -> (&str, &str) {
        match self.host.rfind(':') {
            Some(colon) if !self.host[colon..].contains(']') => {
                (&self.host[..colon], &self.host[colon + 1..])
            }
            _ => (&self.host, ""),
        }
    }

    fn hostname(&self) -> &str {
        self.split_port().0.trim_start_matches('[').trim_end_matches(']')
    }

    fn port(&self) -> &str {
        self.split_port().1
    }

    /// Go leaves out pairs with a semicolon or a bad escape.
    fn query(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let pairs = self.query.as_deref().unwrap_or_default().split('&');
        pairs.filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(key)?, unescape(value)?))
        })
    }

    /// Written back as one text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text = format!("{}:", self.scheme);
        }
        if !self.host.is_empty() || !self.scheme.is_empty() {
            let user = if self.user.is_empty() { String::new() } else { format!("{}@", self.user) };
            text.push_str(&format!("//{user}{}", self.host));
        }
        text.push_str(&self.path);
        for (mark, part) in [('?', &self.query), ('#', &self.fragment)] {
            if let Some(part) = part {
                text.push(mark);
                text.push_str(part);
            }
        }
        text
    }
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(inner) => match inner.rfind(']') {
            Some(end) => &inner[end + 1..],
            None => return Err("missing ']' in host".into()),
        },
        None => host.rfind(':').map_or("", |colon| &host[colon..]),
    };
    let valid = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    if !valid {
        return Err(format!("invalid port {port:?} after host"));
    }
    let forbidden = |c: &char| matches!(c, ' ' | '{' | '}' | '|' | '\\' | '^' | '`');
    if let Some(bad) = host.chars().find(forbidden).filter(|_| !host.starts_with('[')) {
        return Err(format!("invalid character {:?} in host name", bad.to_string()));
    }
    Ok(())
}

fn bad_escape(path: &str) -> Option<&str> {
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        let hex = rest.as_bytes().get(at + 1..at + 3);
        if !hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) {
            let end = (at + 3).min(rest.len());
            return Some(rest.get(at..end).unwrap_or(&rest[at..]));
        }
        rest = &rest[at + 3..];
    }
    None
}

fn escape_path(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

fn unescape(text: &str) -> Option<String> {
    if bad_escape(text).is_some() {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                bytes.push(u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?);
            }
            other => bytes.push(other),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
