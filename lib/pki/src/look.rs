//! What a certificate says, for those who only look: whom it names, who signed it, from when to when it holds. Judges nothing.

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::authority;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// As it is usually written: `O=system:masters, CN=kubernetes-admin`.
    pub subject: String,
    pub issuer: String,
    /// Host names and addresses.
    pub hosts: Vec<String>,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// Whether it may sign others.
    pub is_authority: bool,
}

/// What the first certificate of a PEM text says; `None` if there is none that can be read.
pub fn look(pem: &str) -> Option<Looked> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&der).ok()?;
    let at = |seconds: i64| Timestamp::from_second(seconds).ok();
    Some(Looked {
        subject: parsed.subject().to_string(),
        issuer: parsed.issuer().to_string(),
        hosts: authority::hosts(pem).unwrap_or_default(),
        not_before: at(parsed.validity().not_before.timestamp())?,
        not_after: at(parsed.validity().not_after.timestamp())?,
        is_authority: parsed.is_ca(),
    })
}
