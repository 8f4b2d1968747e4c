//! The table of routes: which target a request's host and path have. Built whole from the cluster's objects, never changed after
//! that; a request looks into the table of the moment at which it came. Knows no socket.

mod backend;
mod build;
mod site;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kedge_client::Key;

use self::backend::backend;
#[cfg(test)]
pub(crate) use self::backend::of_one;
pub(crate) use self::backend::{Backend, Fault, Named, Protocol};
pub(crate) use self::build::{of_service, wanted};
use self::site::Site;
use crate::certificates::Certificates;

#[derive(Debug, Default)]
pub struct Routes {
    hosts: HashMap<Box<str>, Site>,
    /// By what follows the star: `.example.com`.
    wildcards: HashMap<Box<str>, Site>,
    /// Rules for whatever host.
    any: Site,
    /// Where nothing else fits.
    default: Option<Arc<Target>>,
    pub(crate) certificates: Certificates,
    /// A change of these makes another table.
    pub(crate) services: HashSet<Key>,
    pub(crate) secrets: HashSet<Key>,
}

#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) to: To,
    /// How many bytes at the beginning of the path the target does not see.
    pub(crate) strip: usize,
    /// Requests in the clear are sent to HTTPS.
    pub(crate) is_https_only: bool,
}

impl Target {
    /// Whom a request can be passed on to over HTTP/1.1 right away.
    pub(crate) fn backend(&self) -> Option<&Backend> {
        match &self.to {
            To::Service(backend) if backend.fault.is_none() && backend.protocol == Protocol::Http1 => {
                Some(backend)
            }
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum To {
    Service(Arc<Backend>),
    /// Something that is no Service, of which we know nothing.
    Resource(String),
}

#[derive(Debug)]
pub(crate) enum Found<'a> {
    Target(&'a Arc<Target>),
    NoHost,
    NoPath,
}

impl Routes {
    /// Where a request goes. The host has no port and is in lower case, the path has no query.
    pub(crate) fn find(&self, host: &str, path: &str) -> Found<'_> {
        let known = self.hosts.get(host).or_else(|| {
            // A star stands for exactly one part of a name.
            let rest = host.find('.').map(|dot| &host[dot..])?;
            (rest.len() < host.len()).then(|| self.wildcards.get(rest))?
        });
        let target = match known {
            Some(site) => site.find(path),
            None => self.any.find(path),
        };
        match target.or(self.default.as_ref()) {
            Some(target) => Found::Target(target),
            None if known.is_some() => Found::NoPath,
            None => Found::NoHost,
        }
    }

    /// How many paths lead somewhere.
    pub fn len(&self) -> usize {
        let sites = self.hosts.values().chain(self.wildcards.values()).chain([&self.any]);
        sites.map(Site::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn site(&mut self, host: &str) -> &mut Site {
        let host = host.to_ascii_lowercase();
        match (&*host, host.strip_prefix('*')) {
            ("", _) => &mut self.any,
            (_, Some(rest)) => self.wildcards.entry(rest.into()).or_default(),
            (host, None) => self.hosts.entry(host.into()).or_default(),
        }
    }

    /// For a fuzzer: whatever is asked for, what is passed on is a path below the target's root.
    pub fn passed_on(&self, host: &str, path_and_query: &str) -> Option<String> {
        let path = path_and_query.split('?').next().unwrap_or_default();
        match self.find(host, path) {
            Found::Target(target) => Some(stripped(path_and_query, target.strip).concat()),
            Found::NoHost | Found::NoPath => None,
        }
    }
}

/// A path and query without its first bytes, in two parts: `/path1/x?y` becomes `/x?y`, and `/path1` becomes `/`.
pub(crate) fn stripped(path_and_query: &str, strip: usize) -> [&str; 2] {
    let rest = path_and_query.get(strip..).unwrap_or_default();
    if rest.starts_with('/') || (strip == 0 && !rest.is_empty()) { [rest, ""] } else { ["/", rest] }
}

#[cfg(test)]
mod tests;
