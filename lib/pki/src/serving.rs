//! A certificate that stays fresh: kept in two files, renewed before it ends, and swapped under a running server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use kedge_clock::Clock;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::PkiError;
use crate::authority::{Authority, Issued, Names, Purpose, hosts, signed_by, validity};
use crate::file::{read, write_private};

/// One certificate with its key on disk: `<name>.crt` and `<name>.key`.
pub struct Leaf {
    folder: PathBuf,
    file: &'static str,
    names: Names,
    purpose: Purpose,
}

impl Leaf {
    pub fn new(folder: &Path, file: &'static str, names: Names, purpose: Purpose) -> Self {
        Self { folder: folder.to_owned(), file, names, purpose }
    }

    fn paths(&self) -> (PathBuf, PathBuf) {
        (self.folder.join(format!("{}.crt", self.file)), self.folder.join(format!("{}.key", self.file)))
    }

    /// The certificate in use, and when to look at it again. A new one is made if there is none, if a third of its life
    /// is all that is left, or if it lacks a name or our signature.
    pub fn current(&self, authority: &Authority, now: Timestamp) -> Result<(Issued, Timestamp), PkiError> {
        let (certificate_path, key_path) = self.paths();
        if let (Some(certificate), Some(key)) = (read(&certificate_path)?, read(&key_path)?)
            && let Ok(renew_at) = renewal(&certificate_path, &certificate)
            && now < renew_at
            && self.names_are_in(&certificate)
            && signed_by(authority, &certificate)
        {
            return Ok((Issued { certificate, key }, renew_at));
        }
        let issued = authority.issue(&self.names, self.purpose, now)?;
        write_private(&key_path, &issued.key)?;
        write_private(&certificate_path, &issued.certificate)?;
        let renew_at = renewal(&certificate_path, &issued.certificate)?;
        Ok((issued, renew_at))
    }

    fn names_are_in(&self, certificate: &str) -> bool {
        let present = hosts(certificate).unwrap_or_default();
        self.names.hosts.iter().all(|host| present.contains(host))
    }
}

fn renewal(path: &Path, certificate: &str) -> Result<Timestamp, PkiError> {
    let (from, to) = validity(path, certificate)?;
    Ok(to.saturating_sub(to.duration_since(from) / 3).unwrap_or(from))
}

/// The same for a certificate of which nobody knows where it lies.
pub(crate) fn renewal_of(certificate: &str) -> Option<Timestamp> {
    renewal(Path::new(""), certificate).ok()
}

/// What a TLS server shows. Connections that are open keep the certificate they began with.
pub struct Serving {
    leaf: Leaf,
    pub(crate) shown: ArcSwap<CertifiedKey>,
    renew_at: ArcSwap<Timestamp>,
}

impl std::fmt::Debug for Serving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Serving").field("names", &self.leaf.names).finish_non_exhaustive()
    }
}

impl Serving {
    pub fn start(leaf: Leaf, authority: &Authority, now: Timestamp) -> Result<Arc<Self>, PkiError> {
        let (issued, renew_at) = leaf.current(authority, now)?;
        let shown = certified(&leaf, &issued)?;
        Ok(Arc::new(Self {
            leaf,
            shown: ArcSwap::from_pointee(shown),
            renew_at: ArcSwap::from_pointee(renew_at),
        }))
    }

    /// When the certificate should next be looked at.
    pub fn renew_at(&self) -> Timestamp {
        **self.renew_at.load()
    }

    /// Shows a new certificate if the one in use nears its end. Says whether it did.
    pub fn renew(&self, authority: &Authority, now: Timestamp) -> Result<bool, PkiError> {
        if now < self.renew_at() {
            return Ok(false);
        }
        let (issued, renew_at) = self.leaf.current(authority, now)?;
        self.shown.store(Arc::new(certified(&self.leaf, &issued)?));
        self.renew_at.store(Arc::new(renew_at));
        Ok(true)
    }

    /// Renews for as long as it is polled. A failed renewal is reported and tried again an hour later: the certificate
    /// in use is still good for months.
    pub async fn keep_fresh(
        &self,
        authority: &Authority,
        clock: &Clock,
        mut report: impl FnMut(Result<(), PkiError>),
    ) {
        loop {
            clock.until(self.renew_at()).await;
            match self.renew(authority, clock.now()) {
                Ok(true) => report(Ok(())),
                Ok(false) => {}
                Err(error) => {
                    report(Err(error));
                    clock.sleep(std::time::Duration::from_secs(3600)).await;
                }
            }
        }
    }
}

fn certified(leaf: &Leaf, issued: &Issued) -> Result<CertifiedKey, PkiError> {
    let (certificate_path, key_path) = leaf.paths();
    let bad = |error: rustls::pki_types::pem::Error| PkiError::Certificate {
        path: certificate_path.clone(),
        why: error.to_string(),
    };
    let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).map_err(bad)?;
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).map_err(bad)?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    CertifiedKey::from_der(vec![certificate], key, &provider)
        .map_err(|source| PkiError::Key { path: key_path, source })
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown.load_full())
    }
}
