//! The certificate authority of one data folder: made on first use, then read again.
//! Knows no names of its own; callers say who a certificate is for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kedge_clock::Clock;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::OffsetDateTime;

use crate::PkiError;
use crate::client::Requested;
use crate::file::{read, write_private};

const DAY: SignedDuration = SignedDuration::from_hours(24);
const AUTHORITY_DAYS: i32 = 3650;
const LEAF_DAYS: i32 = 365;
/// Machines that talk to each other rarely agree on the time to the minute.
pub(crate) const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// Signs certificates with the key in its folder.
pub struct Authority {
    pem: String,
    pub(crate) der: CertificateDer<'static>,
    pub(crate) issuer: Issuer<'static, KeyPair>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Server,
    Client,
}

/// Who a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    pub common_name: String,
    pub organization: Option<String>,
    /// Host names and addresses; of no meaning for a client.
    pub hosts: Vec<String>,
}

/// A certificate with its key, both PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// Reads `ca.crt` and `ca.key` in `folder`, or makes them.
    pub fn open(folder: &Path, name: &str, clock: &Clock) -> Result<Self, PkiError> {
        let certificate_path = folder.join("ca.crt");
        let key_path = folder.join("ca.key");
        let (pem, key) = match (read(&certificate_path)?, read(&key_path)?) {
            (Some(pem), Some(key)) => (pem, key),
            // Without its key a certificate signs nothing, so half a pair is made anew as a whole.
            _ => {
                let made = new_authority(name, clock.now())?;
                write_private(&key_path, &made.key)?;
                write_private(&certificate_path, &made.certificate)?;
                (made.certificate, made.key)
            }
        };
        let bad = |why: String| PkiError::Certificate { path: certificate_path.clone(), why };
        let key = KeyPair::from_pem(&key).map_err(|error| bad(error.to_string()))?;
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| bad(error.to_string()))?;
        let issuer = Issuer::from_ca_cert_pem(&pem, key).map_err(|error| bad(error.to_string()))?;
        Ok(Self { pem, der, issuer })
    }

    /// The certificate that others need to trust what this authority signs.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A new certificate with a new key, valid for a year from now.
    pub fn issue(&self, names: &Names, purpose: Purpose, now: Timestamp) -> Result<Issued, PkiError> {
        let made = || {
            let mut params = params(names, now, LEAF_DAYS)?;
            params.use_authority_key_identifier_extension = true;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
            params.extended_key_usages = vec![match purpose {
                Purpose::Server => ExtendedKeyUsagePurpose::ServerAuth,
                Purpose::Client => ExtendedKeyUsagePurpose::ClientAuth,
            }];
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
        };
        made().map_err(|source| PkiError::Issue { name: names.common_name.clone(), source })
    }

    /// Checks the certificates that clients show.
    pub fn clients(&self) -> Result<Arc<Requested>, PkiError> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).map_err(|error| PkiError::Verifier { why: error.to_string() })?;
        Requested::trusting(roots)
    }
}

fn new_authority(name: &str, now: Timestamp) -> Result<Issued, PkiError> {
    let names = Names { common_name: name.to_owned(), organization: None, hosts: Vec::new() };
    let made = || {
        let mut params = params(&names, now, AUTHORITY_DAYS)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = params.self_signed(&key)?;
        Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
    };
    made().map_err(|source| PkiError::Issue { name: name.to_owned(), source })
}

fn params(names: &Names, now: Timestamp, days: i32) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names.hosts.clone())?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, names.common_name.as_str());
    if let Some(organization) = &names.organization {
        subject.push(DnType::OrganizationName, organization.as_str());
    }
    params.distinguished_name = subject;
    params.not_before = moment(now.saturating_sub(CLOCK_SKEW).unwrap_or(now))?;
    params.not_after = moment(now.saturating_add(DAY * days).unwrap_or(now))?;
    Ok(params)
}

fn moment(at: Timestamp) -> Result<OffsetDateTime, rcgen::Error> {
    OffsetDateTime::from_unix_timestamp(at.as_second()).map_err(|_| rcgen::Error::Time)
}

/// From when to when a PEM certificate is valid.
pub(crate) fn validity(path: &Path, pem: &str) -> Result<(Timestamp, Timestamp), PkiError> {
    let bad = |why: String| PkiError::Certificate { path: PathBuf::from(path), why };
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| bad(error.to_string()))?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|error| bad(error.to_string()))?;
    let validity = parsed.validity();
    let at = |seconds: i64| Timestamp::from_second(seconds).map_err(|error| bad(error.to_string()));
    Ok((at(validity.not_before.timestamp())?, at(validity.not_after.timestamp())?))
}

/// The host names and addresses that a PEM certificate carries; `None` if it cannot be read.
pub(crate) fn hosts(pem: &str) -> Option<Vec<String>> {
    use x509_parser::extensions::GeneralName;
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&der).ok()?;
    let names = parsed.subject_alternative_name().ok()??;
    let host = |name: &GeneralName<'_>| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes),
        _ => None,
    };
    Some(names.value.general_names.iter().filter_map(host).collect())
}

fn address(bytes: &[u8]) -> Option<String> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(std::net::Ipv4Addr::from(four).to_string());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|sixteen| std::net::Ipv6Addr::from(sixteen).to_string())
}

/// Whether `pem` was signed by this authority.
pub(crate) fn signed_by(authority: &Authority, pem: &str) -> bool {
    signed_by_der(&authority.der, pem)
}

pub(crate) fn signed_by_pem(authority: &str, pem: &str) -> bool {
    CertificateDer::from_pem_slice(authority.as_bytes()).is_ok_and(|der| signed_by_der(&der, pem))
}

fn signed_by_der(authority: &CertificateDer<'_>, pem: &str) -> bool {
    let check = || {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let (_, leaf) = x509_parser::parse_x509_certificate(&der).ok()?;
        let (_, root) = x509_parser::parse_x509_certificate(authority).ok()?;
        // Comparing the key identifiers suffices: this only decides whether our own file is out of date.
        let leaf_issuer =
            leaf.iter_extensions().find_map(|extension| match extension.parsed_extension() {
                x509_parser::extensions::ParsedExtension::AuthorityKeyIdentifier(id) => {
                    id.key_identifier.as_ref().map(|id| id.0.to_vec())
                }
                _ => None,
            })?;
        let root_id = root.iter_extensions().find_map(|extension| match extension.parsed_extension() {
            x509_parser::extensions::ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
            _ => None,
        })?;
        Some(leaf_issuer == root_id)
    };
    check().unwrap_or(false)
}
