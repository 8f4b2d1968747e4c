//! What a connection trusts and shows. Knows no addresses.

mod bundle;

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::Cause;
use crate::target::{Identity, Target};

/// `exclusive`: the connection serves one exchange at a time.
pub(crate) fn config(target: &Target, exclusive: bool) -> Result<ClientConfig, Cause> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let unusable = |error: rustls::Error| Cause::Authorities { why: error.to_string() };
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = if target.insecure_skip_verify {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider)))
    } else {
        match target.ca_bundle.as_deref().filter(|pem| !pem.is_empty()) {
            Some(pem) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(bundle::Bundle::read(pem, provider)?)),
            None => builder.with_root_certificates(machine()),
        }
    };
    let mut config = match &target.identity {
        Some(identity) => shown(identity, |chain, key| builder.with_client_auth_cert(chain, key))?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = match exclusive {
        true => vec![b"http/1.1".to_vec()],
        false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(config)
}

/// Those whom this machine trusts. A machine without any trusts nobody.
fn machine() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let load = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(roots)
    };
    ROOTS.get_or_init(load).clone()
}

fn shown<T>(
    identity: &Identity,
    make: impl FnOnce(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) -> Result<T, rustls::Error>,
) -> Result<T, Cause> {
    let bad = |why: String| Cause::Identity { why };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&identity.certificate).collect();
    let chain = chain.map_err(|error| bad(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(&identity.key).map_err(|error| bad(error.to_string()))?;
    make(chain, key).map_err(|error| bad(error.to_string()))
}

/// Believes whoever answers, if only the connection is theirs.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _leaf: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _stapled: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, leaf, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, leaf, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
