//! What a connection trusts and shows. Knows no addresses.

mod bundle;

use std::sync::{Arc, OnceLock};

use kedge_pki::Anyone;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

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
