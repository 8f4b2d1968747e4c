//! Keys and certificates in one folder: a certificate authority of our own, what it issues, and renewal in place.
//! Knows nothing of Kubernetes; the names in a certificate are handed in.

mod anyone;
mod ask;
mod authority;
mod client;
mod der;
mod file;
mod look;
mod request;
mod serving;
mod sign;

pub use anyone::Anyone;
pub use ask::{
    Shown, clients_of, fingerprint, has_hosts, is_signed_by, key_fingerprint, renew_at, request, subject,
};
pub use authority::{Authority, Issued, Names, Purpose};
pub use client::{Requested, Subject};
pub use file::{read, read_or_make, write_private};
pub use look::{Looked, look};
pub use request::{Request, RequestError};
pub use serving::{Leaf, Serving};
pub use sign::{Usage, not_after};

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot make a key or certificate for {name}")]
    Issue { name: String, source: rcgen::Error },
    #[error("{} holds no usable certificate: {why}", path.display())]
    Certificate { path: PathBuf, why: String },
    #[error("{} holds no usable key", path.display())]
    Key { path: PathBuf, source: rustls::Error },
    #[error("the authority's certificate cannot be used to check clients: {why}")]
    Verifier { why: String },
    #[error("a certificate cannot be valid until {until}")]
    Moment { until: jiff::Timestamp },
}

/// A new ECDSA P-256 key as PKCS#8 PEM.
pub fn new_key() -> Result<String, PkiError> {
    match rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256) {
        Ok(key) => Ok(key.serialize_pem()),
        Err(source) => Err(PkiError::Issue { name: "a signing key".to_owned(), source }),
    }
}

/// The public half of a PKCS#8 PEM key, as PEM.
pub fn public_key(private_pem: &str) -> Result<String, PkiError> {
    match rcgen::KeyPair::from_pem(private_pem) {
        Ok(key) => Ok(key.public_key_pem()),
        Err(source) => Err(PkiError::Issue { name: "a public key".to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
