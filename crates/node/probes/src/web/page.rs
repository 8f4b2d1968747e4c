//! Which page is asked for, and how the request for it looks.

use http::header::{ACCEPT, CONNECTION, HOST, HeaderName, HeaderValue, USER_AGENT};
use http::{HeaderMap, Request, Uri};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::dial::address;

/// What may not stand in a request's path as it is.
const UNUSUAL: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}');

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub tls: bool,
    pub host: String,
    pub port: u16,
    /// With the query, if there is one.
    pub path: String,
    /// In the order in which they were listed; of a name there may be several.
    pub headers: Vec<(String, String)>,
    /// Who asks, unless the headers say so.
    pub agent: &'static str,
}

impl Page {
    pub fn url(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", address(&self.host, self.port), self.target())
    }

    /// What the request's first line asks for.
    fn target(&self) -> String {
        let path = self.path.split('#').next().unwrap_or_default();
        let encoded = utf8_percent_encode(path, UNUSUAL).to_string();
        match encoded.chars().next() {
            Some('/') => encoded,
            _ => format!("/{encoded}"),
        }
    }

    pub(super) fn request(&self) -> Result<Request<()>, http::Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value)?);
        }
        if !headers.contains_key(HOST) {
            headers.insert(HOST, HeaderValue::from_str(&address(&self.host, self.port))?);
        }
        if !headers.contains_key(USER_AGENT) {
            headers.insert(USER_AGENT, HeaderValue::from_static(self.agent));
        }
        match headers.get(ACCEPT) {
            None => drop(headers.insert(ACCEPT, HeaderValue::from_static("*/*"))),
            // Whoever lists it empty wants it away.
            Some(accept) if accept.is_empty() => drop(headers.remove(ACCEPT)),
            Some(_) => {}
        }
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        let mut request = Request::get(self.target()).body(())?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// Where a redirect leads, if that is the same host.
    pub(super) fn at(&self, location: &str) -> Option<Self> {
        let (scheme, rest) = match location.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), Some(rest)),
            None => (None, location.strip_prefix("//")),
        };
        let Some(rest) = rest else {
            let base = self.path.split('?').next().unwrap_or_default();
            let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
            let is_whole = location.starts_with('/');
            let path = if is_whole { location.to_owned() } else { format!("{folder}/{location}") };
            return Some(Self { path, ..self.clone() });
        };
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let uri: Uri = format!("http://{authority}/").parse().ok()?;
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
        let tls = scheme.map_or(self.tls, |scheme| scheme.eq_ignore_ascii_case("https"));
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let mut next = Self { tls, port, path: path.to_owned(), ..self.clone() };
        // The name that was asked for holds for the first request alone.
        next.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("host"));
        (host == self.host).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> Page {
        let (host, headers) = ("::1".to_owned(), Vec::new());
        Page { tls: false, host, port: 8080, path: path.to_owned(), headers, agent: "kube-probe/1.36" }
    }

    #[test]
    fn a_path_becomes_a_url() {
        for (path, url) in [
            ("/healthz", "http://[::1]:8080/healthz"),
            ("healthz?verbose=1", "http://[::1]:8080/healthz?verbose=1"),
            ("", "http://[::1]:8080/"),
            ("/a b#part", "http://[::1]:8080/a%20b"),
        ] {
            assert_eq!(page(path).url(), url);
        }
    }

    #[test]
    fn headers_are_as_listed_and_the_rest_is_usual() {
        let mut page = page("/");
        let told = |page: &Page| {
            let request = page.request().unwrap();
            let get = |name| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            (get("host"), get("user-agent"), get("accept"))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(told(&page), (some("[::1]:8080"), some("kube-probe/1.36"), some("*/*")));
        let listed = [("Host", "web"), ("User-Agent", "mine"), ("Accept", "")];
        page.headers = listed.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        assert_eq!(told(&page), (some("web"), some("mine"), None));
    }

    #[test]
    fn redirects_stay_on_the_host() {
        let from = page("/a/b?x=1");
        for (location, url) in [
            ("/c", Some("http://[::1]:8080/c")),
            ("c", Some("http://[::1]:8080/a/c")),
            ("http://[::1]:81/d", Some("http://[::1]:81/d")),
            ("https://[::1]/d", Some("https://[::1]:443/d")),
            ("http://elsewhere/", None),
        ] {
            assert_eq!(from.at(location).map(|page| page.url()).as_deref(), url, "{location}");
        }
    }
}
