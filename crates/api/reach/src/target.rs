//! Where a server is and how it proves itself. Names and settings only; the address of a Service is found by whoever
//! implements `Resolve`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use http::Uri;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// `https://host[:port][/path]`
    Url(String),
    Service {
        namespace: String,
        name: String,
        port: u16,
        path: String,
    },
    /// An address of its own, as nodes and pods have one. Each exchange has its connection for itself.
    Address {
        host: String,
        port: u16,
        /// In the clear if not.
        secure: bool,
        /// Whom its certificate has to name, if not the host.
        name: Option<String>,
    },
}

/// A server to be reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub place: Place,
    /// PEM of those whose signature is trusted; without it those whom this machine trusts.
    pub ca_bundle: Option<Bytes>,
    /// Who we are, to a server that asks.
    pub identity: Option<Identity>,
    /// Trusts whatever certificate is shown.
    pub insecure_skip_verify: bool,
}

/// A client certificate with its key, both PEM.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    pub certificate: Bytes,
    pub key: Bytes,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

/// What to dial.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    Address(SocketAddr),
    /// A host name that the machine's resolver knows.
    Host(String, u16),
}

/// Says where a Service's port can be reached at the moment.
pub trait Resolve: fmt::Debug + Send + Sync {
    fn resolve(&self, namespace: &str, service: &str, port: u16) -> Result<Door, ResolveError>;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("service {name:?} not found")]
    Missing { name: String },
    #[error("no service port {port} found for service {name:?}")]
    Port { name: String, port: u16 },
    #[error("no endpoints available for service {name:?}")]
    Endpoints { name: String },
    #[error("unsupported service type {kind:?}")]
    Unsupported { kind: String },
    /// Not a URL that can be reached by TLS.
    #[error("invalid url {url:?}")]
    Url { url: String },
}

impl Target {
    pub fn url_of(url: impl Into<String>, ca_bundle: Option<Bytes>) -> Self {
        Self { place: Place::Url(url.into()), ca_bundle, identity: None, insecure_skip_verify: false }
    }

    /// The address as people read it, with the request's own path and query behind the place's.
    pub(crate) fn url(&self, asked: &Uri) -> String {
        let mut url = match &self.place {
            Place::Url(url) => url.clone(),
            Place::Service { namespace, name, port, path } => {
                let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
                format!("https://{name}.{namespace}.svc:{port}{slash}{path}")
            }
            Place::Address { host, port, secure, .. } => {
                let scheme = if *secure { "https" } else { "http" };
                match host.contains(':') {
                    true => format!("{scheme}://[{host}]:{port}"),
                    false => format!("{scheme}://{host}:{port}"),
                }
            }
        };
        match asked.path() {
            "" | "/" if url.matches('/').count() > 2 => {}
            path => {
                url.truncate(url.trim_end_matches('/').len());
                url.push_str(path);
            }
        }
        if let Some(query) = asked.query() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(query);
        }
        url
    }

    pub(crate) fn door(&self, resolve: &dyn Resolve) -> Result<Door, ResolveError> {
        match &self.place {
            Place::Service { namespace, name, port, .. } => resolve.resolve(namespace, name, *port),
            Place::Url(url) => {
                let bad = || ResolveError::Url { url: url.clone() };
                let uri: Uri = url.parse().map_err(|_| bad())?;
                if uri.scheme_str() != Some("https") {
                    return Err(bad());
                }
                let host = bare(uri.host().ok_or_else(bad)?);
                Ok(Door::Host(host.to_owned(), uri.port_u16().unwrap_or(443)))
            }
            Place::Address { host, port, .. } => Ok(match host.parse::<IpAddr>() {
                Ok(address) => Door::Address(SocketAddr::new(address, *port)),
                Err(_) => Door::Host(host.clone(), *port),
            }),
        }
    }

    /// Whether what is said to it can be read on the way.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.place, Place::Address { secure: false, .. })
    }

    /// Whether each exchange gets a connection for itself: one that lasts and is read slowly would else hold up others.
    pub(crate) fn is_exclusive(&self) -> bool {
        matches!(self.place, Place::Address { .. })
    }

    /// Whom the server's certificate has to name.
    pub(crate) fn server_name(&self) -> Option<String> {
        match &self.place {
            Place::Service { namespace, name, .. } => Some(format!("{name}.{namespace}.svc")),
            Place::Url(url) => Some(bare(url.parse::<Uri>().ok()?.host()?).to_owned()),
            Place::Address { host, name, .. } => Some(name.clone().unwrap_or_else(|| host.clone())),
        }
    }
}

/// An IPv6 address stands in brackets in a URL and nowhere else.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}
