//! The other side of an authority that is elsewhere: a key of our own, the request for a certificate of it, and what came back.
//! Who answers, and how it is reached, is the caller's to know.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use aws_lc_rs::digest::{SHA256, digest};
use jiff::Timestamp;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::authority::{Issued, Names};
use crate::client::{Requested, Subject};
use crate::request::Request;
use crate::serving::renewal_of;
use crate::{PkiError, authority};

/// A request (PKCS#10, PEM) for a certificate with this key (PKCS#8, PEM).
pub fn request(key: &str, names: &Names) -> Result<String, PkiError> {
    let made = || {
        let key = KeyPair::from_pem(key)?;
        let mut params = CertificateParams::new(names.hosts.clone())?;
        let mut subject = DistinguishedName::new();
        subject.push(DnType::CommonName, names.common_name.as_str());
        if let Some(organization) = &names.organization {
            subject.push(DnType::OrganizationName, organization.as_str());
        }
        params.distinguished_name = subject;
        params.serialize_request(&key)?.pem()
    };
    made().map_err(|source| PkiError::Issue { name: names.common_name.clone(), source })
}

/// What a PEM certificate is known by: the SHA-256 of all of it, in hexadecimal. `None` if it is none.
pub fn fingerprint(pem: &str) -> Option<String> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    Some(hex(digest(&SHA256, &der).as_ref()))
}

/// What a PKCS#8 PEM key is known by: the SHA-256 of its public half.
pub fn key_fingerprint(key: &str) -> Result<String, PkiError> {
    match KeyPair::from_pem(key) {
        Ok(key) => Ok(hex(digest(&SHA256, &key.subject_public_key_info()).as_ref())),
        Err(source) => Err(PkiError::Issue { name: "a fingerprint".to_owned(), source }),
    }
}

impl Request {
    /// What the key is known by that the certificate is asked for.
    pub fn key_fingerprint(&self) -> String {
        hex(digest(&SHA256, &self.public_key).as_ref())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks the certificates that clients show against an authority of which we have the certificate alone.
pub fn clients_of(authority: &str) -> Result<Arc<Requested>, PkiError> {
    let bad = |why: String| PkiError::Verifier { why };
    let der = CertificateDer::from_pem_slice(authority.as_bytes()).map_err(|error| bad(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    roots.add(der).map_err(|error| bad(error.to_string()))?;
    Requested::trusting(roots)
}

/// Whom a PEM certificate for a client names, if the authority vouches for it now. The error is a sentence.
pub fn subject(certificate: &str, authority: &str, now: Timestamp) -> Result<Subject, String> {
    let clients = clients_of(authority).map_err(|error| error.to_string())?;
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|error| error.to_string())?;
    clients.check(&[der], now)
}

/// Whether a PEM certificate carries all these host names and addresses.
pub fn has_hosts(certificate: &str, hosts: &[String]) -> bool {
    let present = authority::hosts(certificate).unwrap_or_default();
    hosts.iter().all(|host| present.contains(host))
}

/// Whether an authority of which we have the certificate alone signed this one.
pub fn is_signed_by(certificate: &str, authority: &str) -> bool {
    authority::signed_by_pem(authority, certificate)
}

/// When a PEM certificate should be replaced: a third of its life is left then. `None` if it cannot be read.
pub fn renew_at(certificate: &str) -> Option<Timestamp> {
    renewal_of(certificate)
}

/// What a TLS server shows, handed in from outside. Until then nobody gets through the handshake.
#[derive(Default)]
pub struct Shown(ArcSwapOption<CertifiedKey>);

impl Shown {
    pub fn show(&self, issued: &Issued) -> Result<(), PkiError> {
        let bad = |why: String| PkiError::Verifier { why };
        let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes())
            .map_err(|error| bad(error.to_string()))?;
        let key =
            PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).map_err(|error| bad(error.to_string()))?;
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let certified = CertifiedKey::from_der(vec![certificate], key, &provider)
            .map_err(|error| bad(error.to_string()))?;
        self.0.store(Some(Arc::new(certified)));
        Ok(())
    }
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shown")
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use kedge_clock::Clock;

    use super::*;
    use crate::{Authority, Usage, new_key};

    #[test]
    fn what_is_asked_for_is_signed_and_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::system();
        let authority = Authority::open(folder.path(), "ca", &clock).unwrap();
        let key = new_key().unwrap();
        let names = Names {
            common_name: "system:node:n1".to_owned(),
            organization: Some("system:nodes".to_owned()),
            hosts: Vec::new(),
        };
        let asked = Request::parse(request(&key, &names).unwrap().as_bytes()).unwrap();
        assert_eq!(asked.key_fingerprint(), key_fingerprint(&key).unwrap());
        assert_ne!(asked.key_fingerprint(), key_fingerprint(&new_key().unwrap()).unwrap());

        let (usages, day) = ([Usage::DIGITAL_SIGNATURE, Usage::CLIENT_AUTH], SignedDuration::from_hours(24));
        let certificate = authority.sign(&asked, &usages, day, clock.now()).unwrap();
        let found = subject(&certificate, authority.pem(), clock.now()).unwrap();
        assert_eq!(
            (&*found.common_name, &*found.organizations),
            ("system:node:n1", &["system:nodes".to_owned()][..])
        );
        let renew = renew_at(&certificate).unwrap();
        assert!(clock.now() < renew && renew < found.not_after, "{renew}");

        let late = clock.now().saturating_add(SignedDuration::from_hours(25)).unwrap();
        assert!(subject(&certificate, authority.pem(), late).is_err(), "its time is over");
        let other = tempfile::tempdir().unwrap();
        let other = Authority::open(other.path(), "ca", &clock).unwrap();
        assert!(subject(&certificate, other.pem(), clock.now()).is_err(), "another signed it");
        assert!(is_signed_by(&certificate, authority.pem()) && !is_signed_by(&certificate, other.pem()));
        assert_ne!(fingerprint(authority.pem()), fingerprint(other.pem()));
        assert_eq!(fingerprint("rubbish"), None);
        Shown::default().show(&Issued { certificate, key }).unwrap();
    }
}
