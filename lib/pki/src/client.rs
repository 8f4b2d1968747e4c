//! Client certificates: asked for, not demanded. The handshake proves that the client holds its key; whether we trust the
//! certificate is asked afterwards, so that a bad one can be answered in words and not with a broken connection.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use crate::PkiError;

#[derive(Debug)]
pub struct Requested {
    trusted: Arc<dyn ClientCertVerifier>,
}

/// Who a trusted certificate names, and until when it may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub common_name: String,
    pub organizations: Vec<String>,
    pub not_after: Timestamp,
}

impl Requested {
    pub(crate) fn trusting(roots: RootCertStore) -> Result<Arc<Self>, PkiError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let trusted = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .allow_unauthenticated()
            .build()
            .map_err(|error| PkiError::Verifier { why: error.to_string() })?;
        Ok(Arc::new(Self { trusted }))
    }

    /// Whether a chain that came through the handshake leads to our authority and is valid now.
    /// The error is a sentence for the client.
    pub fn check(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> Result<Subject, String> {
        let (leaf, rest) = chain.split_first().ok_or("no certificate")?;
        let seconds = u64::try_from(now.as_second()).map_err(|error| error.to_string())?;
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        self.trusted.verify_client_cert(leaf, rest, now).map_err(|error| error.to_string())?;
        let (_, parsed) = x509_parser::parse_x509_certificate(leaf).map_err(|error| error.to_string())?;
        let subject = parsed.subject();
        let common_name =
            subject.iter_common_name().find_map(|name| name.as_str().ok()).ok_or("no common name")?;
        let organizations =
            subject.iter_organization().filter_map(|name| name.as_str().ok().map(str::to_owned));
        Ok(Subject {
            common_name: common_name.to_owned(),
            organizations: organizations.collect(),
            not_after: Timestamp::from_second(parsed.validity().not_after.timestamp())
                .map_err(|error| error.to_string())?,
        })
    }
}

impl ClientCertVerifier for Requested {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    // Naming our authority here would make clients with a foreign certificate send none, and be told less.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trusted.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.trusted.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trusted.supported_verify_schemes()
    }
}
