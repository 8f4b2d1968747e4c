//! Trust by a CA bundle. A server may show a certificate of the bundle itself: many webhooks come with one that signed
//! itself and calls itself an authority, which Go's clients take and a strict verifier wouldn't.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::Cause;

#[derive(Debug)]
pub(super) struct Bundle {
    certificates: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl Bundle {
    pub(super) fn read(pem: &[u8], provider: Arc<CryptoProvider>) -> Result<Self, Cause> {
        let bad = |why: String| Cause::Authorities { why };
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let certificates: Vec<CertificateDer<'static>> =
            certificates.map_err(|error| bad(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        for der in &certificates {
            roots.add(der.clone()).map_err(|error| bad(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(bad("unable to load root certificates".to_owned()));
        }
        let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Self { certificates, signed: signed.map_err(|error| bad(error.to_string()))? })
    }
}

impl ServerCertVerifier for Bundle {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !self.certificates.iter().any(|known| known == leaf) {
            return self.signed.verify_server_cert(leaf, between, name, stapled, now);
        }
        let unreadable = |_| rustls::Error::InvalidCertificate(CertificateError::BadEncoding);
        let (_, parsed) = x509_parser::parse_x509_certificate(leaf).map_err(unreadable)?;
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let validity = parsed.validity();
        if seconds < validity.not_before.timestamp() {
            return Err(rustls::Error::InvalidCertificate(CertificateError::NotValidYet));
        }
        if seconds > validity.not_after.timestamp() {
            return Err(rustls::Error::InvalidCertificate(CertificateError::Expired));
        }
        verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}
