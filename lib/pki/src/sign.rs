//! Makes a certificate for a request: subject, key and names as they were asked for, times and uses as they are handed
//! in. Whether to sign is decided before.

use jiff::{SignedDuration, Timestamp};
use rcgen::SigningKey;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::extensions::ParsedExtension;

use crate::PkiError;
use crate::authority::{Authority, CLOCK_SKEW};
use crate::der::{bits, extension, integer, object_id, sequence, time, value};
use crate::request::Request;

/// What a certificate may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// A bit of `keyUsage`, counted from the most significant.
    Key(u8),
    /// An `extKeyUsage`, by the contents of its object identifier.
    Extended(&'static [u8]),
}

impl Usage {
    pub const DIGITAL_SIGNATURE: Usage = Usage::Key(0);
    pub const CONTENT_COMMITMENT: Usage = Usage::Key(1);
    pub const KEY_ENCIPHERMENT: Usage = Usage::Key(2);
    pub const DATA_ENCIPHERMENT: Usage = Usage::Key(3);
    pub const KEY_AGREEMENT: Usage = Usage::Key(4);
    pub const CERT_SIGN: Usage = Usage::Key(5);
    pub const CRL_SIGN: Usage = Usage::Key(6);
    pub const ENCIPHER_ONLY: Usage = Usage::Key(7);
    pub const DECIPHER_ONLY: Usage = Usage::Key(8);
    pub const ANY: Usage = Usage::Extended(&[0x55, 0x1d, 0x25, 0x00]);
    pub const SERVER_AUTH: Usage = Usage::Extended(&[0x2b, 6, 1, 5, 5, 7, 3, 1]);
    pub const CLIENT_AUTH: Usage = Usage::Extended(&[0x2b, 6, 1, 5, 5, 7, 3, 2]);
    pub const CODE_SIGNING: Usage = Usage::Extended(&[0x2b, 6, 1, 5, 5, 7, 3, 3]);
    pub const EMAIL_PROTECTION: Usage = Usage::Extended(&[0x2b, 6, 1, 5, 5, 7, 3, 4]);
    pub const TIMESTAMPING: Usage = Usage::Extended(&[0x2b, 6, 1, 5, 5, 7, 3, 8]);
    pub const OCSP_SIGNING: Usage = Usage::Extended(&[0x2b, 6, 1, 5, 5, 7, 3, 9]);
}

/// 1.2.840.10045.4.3.2: what our authority's key signs with.
const ECDSA_WITH_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 17];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
const AUTHORITY_KEY: &[u8] = &[0x55, 0x1d, 35];
const EXTENDED_USAGE: &[u8] = &[0x55, 0x1d, 37];
/// Five minutes are little of so long a time; a shorter one is given whole.
const SHORT: SignedDuration = SignedDuration::from_hours(8);

impl Authority {
    /// A certificate as PEM, valid for `lasts` from `now`.
    pub fn sign(
        &self,
        request: &Request,
        usages: &[Usage],
        lasts: SignedDuration,
        now: Timestamp,
    ) -> Result<String, PkiError> {
        let name = || request.common_name.clone();
        let moment = || PkiError::Moment { until: now };
        let (_, root) = x509_parser::parse_x509_certificate(&self.der)
            .map_err(|error| PkiError::Verifier { why: error.to_string() })?;
        let begin = now.saturating_sub(CLOCK_SKEW).map_err(|_| moment())?;
        let counted = if lasts < SHORT { now } else { begin };
        let root_ends =
            Timestamp::from_second(root.validity().not_after.timestamp()).map_err(|_| moment())?;
        // Nothing that we sign outlives what vouches for it.
        let end = counted.saturating_add(lasts).map_err(|_| moment())?.min(root_ends);

        let algorithm = sequence(&[&object_id(ECDSA_WITH_SHA256)]);
        let mut serial = [0; 16];
        aws_lc_rs::rand::fill(&mut serial)
            .map_err(|_| PkiError::Issue { name: name(), source: rcgen::Error::RingUnspecified })?;
        // Positive and never shorter.
        serial[0] = (serial[0] & 0x7f) | 0x40;
        let body = sequence(&[
            &value(0xa0, &integer(&[2])),
            &integer(&serial),
            &algorithm,
            root.subject().as_raw(),
            &sequence(&[&time(begin), &time(end)]),
            &request.subject,
            &request.public_key,
            &value(0xa3, &value(0x30, &extensions(&root, request, usages))),
        ]);
        let signature =
            self.issuer.key().sign(&body).map_err(|source| PkiError::Issue { name: name(), source })?;
        let der = sequence(&[&body, &algorithm, &bits(0, &signature)]);
        Ok(pem("CERTIFICATE", &der))
    }
}

fn extensions(
    root: &x509_parser::certificate::X509Certificate<'_>,
    request: &Request,
    usages: &[Usage],
) -> Vec<u8> {
    let mut all = Vec::new();
    let mut key_bits = [0_u8; 2];
    let mut extended = Vec::new();
    for usage in usages {
        match usage {
            Usage::Key(bit) => key_bits[usize::from(bit / 8)] |= 0x80 >> (bit % 8),
            Usage::Extended(id) => extended.extend(object_id(id)),
        }
    }
    // DER leaves out bits that are not set at the end.
    let used = if key_bits[1] == 0 { &key_bits[..1] } else { &key_bits[..] };
    if let Some(last) = used.last().filter(|last| **last != 0) {
        all.extend(extension(KEY_USAGE, true, &bits(last.trailing_zeros() as u8, used)));
    }
    if !extended.is_empty() {
        all.extend(extension(EXTENDED_USAGE, false, &value(0x30, &extended)));
    }
    // No authority, whoever asks.
    all.extend(extension(BASIC_CONSTRAINTS, true, &sequence(&[])));
    let own = root.iter_extensions().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
        _ => None,
    });
    if let Some(id) = own {
        all.extend(extension(AUTHORITY_KEY, false, &sequence(&[&value(0x80, &id)])));
    }
    if let Some(names) = &request.alternative_names {
        all.extend(extension(ALTERNATIVE_NAMES, false, names));
    }
    all
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    use std::fmt::Write as _;
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, der);
    let mut out = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{}", String::from_utf8_lossy(line));
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// When a PEM certificate ends; `None` if it cannot be read.
pub fn not_after(pem: &[u8]) -> Option<Timestamp> {
    let der = CertificateDer::from_pem_slice(pem).ok()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&der).ok()?;
    Timestamp::from_second(parsed.validity().not_after.timestamp()).ok()
}
