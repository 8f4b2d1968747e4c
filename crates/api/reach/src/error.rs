//! Why a server could not be reached, in the words that Kubernetes' clients know from Go's.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use http::Method;
use rustls::CertificateError;

use crate::target::ResolveError;

/// A request that got no answer.
#[derive(Debug)]
pub struct ReachError {
    pub method: Method,
    pub url: String,
    pub cause: Cause,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum Cause {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error("invalid url")]
    Url,
    #[error("dial tcp: lookup {host}: no such host")]
    Lookup { host: String },
    #[error("dial tcp {at}: {}", dialed(source))]
    Dial { at: String, source: Arc<io::Error> },
    #[error("dial tcp {at}: i/o timeout")]
    DialTimeout { at: String },
    #[error("{}", shaken(source))]
    Handshake { source: Arc<io::Error> },
    #[error("unable to use the CA bundle: {why}")]
    Authorities { why: String },
    #[error("unable to use the client certificate: {why}")]
    Identity { why: String },
    #[error("context deadline exceeded")]
    Deadline,
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    /// The connection ended in the middle of an exchange.
    #[error("{why}")]
    Broken { why: String },
}

impl ReachError {
    pub fn is_timeout(&self) -> bool {
        matches!(self.cause, Cause::Deadline | Cause::DialTimeout { .. })
    }
}

impl fmt::Display for ReachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.method.as_str();
        let (first, rest) = method.split_at(method.len().min(1));
        write!(f, "{first}{} {:?}: {}", rest.to_ascii_lowercase(), self.url, self.cause)
    }
}

impl Error for ReachError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

impl Cause {
    /// What our connector said, or else what became of the connection.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        let mut step = Some(error);
        let mut last = String::new();
        while let Some(error) = step {
            if let Some(cause) = error.downcast_ref::<Self>() {
                return cause.clone();
            }
            if let Some(error) = error.downcast_ref::<hyper::Error>()
                && (error.is_incomplete_message() || error.is_closed() || error.is_canceled())
            {
                return Self::Broken { why: "EOF".to_owned() };
            }
            last = error.to_string();
            step = error.source();
        }
        Self::Broken { why: last }
    }
}

fn dialed(error: &io::Error) -> String {
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::HostUnreachable => "no route to host",
        io::ErrorKind::NetworkUnreachable => "network is unreachable",
        io::ErrorKind::TimedOut => "connection timed out",
        _ => return error.to_string(),
    };
    format!("connect: {what}")
}

fn shaken(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => {
            format!("tls: failed to verify certificate: x509: {}", distrust(why))
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            "tls: first record does not look like a TLS handshake".to_owned()
        }
        Some(other) => format!("tls: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => error.to_string(),
    }
}

fn distrust(why: &CertificateError) -> String {
    match why {
        // Another authority of the same name, or none of a known one.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let presented: Vec<&str> = presented.iter().map(|name| named(name)).collect();
            let expected = expected.to_str();
            if presented.is_empty() {
                format!("certificate is not valid for any names, but wanted to match {expected}")
            } else {
                format!("certificate is valid for {}, not {expected}", presented.join(", "))
            }
        }
        other => other.to_string(),
    }
}

/// The library writes names as `DnsName("a.b")`.
fn named(shown: &str) -> &str {
    shown.split('"').nth(1).unwrap_or(shown)
}
