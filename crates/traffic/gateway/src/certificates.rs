//! Which certificate is shown for which name: that of the oldest Ingress that has one for it, else one of our own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use k8s_openapi::api::networking::v1::Ingress;
use kedge_client::{Cache, Key};
use kube::ResourceExt;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::claims::hosts;
use crate::routes::Routes;
use crate::secret::TlsSecret;

#[derive(Debug, Default)]
pub(crate) struct Certificates {
    hosts: HashMap<Box<str>, Arc<CertifiedKey>>,
    wildcards: HashMap<Box<str>, Arc<CertifiedKey>>,
    /// For clients that name no host, or one that nobody has a certificate for.
    fallback: Option<Arc<CertifiedKey>>,
    /// Reading a key is work; what did not change is not read again.
    read: HashMap<Key, Read>,
}

#[derive(Clone, Debug)]
struct Read {
    version: Option<String>,
    certificate: Option<Arc<CertifiedKey>>,
}

impl Certificates {
    /// Those of these Ingresses, the oldest first, and in which Secrets they are or would be.
    pub(crate) fn of(
        ingresses: &[Arc<Ingress>],
        secrets: &Cache<TlsSecret>,
        before: Option<&Self>,
    ) -> (Self, HashSet<Key>) {
        let mut all = Self::default();
        let mut named = HashSet::new();
        for ingress in ingresses {
            for tls in ingress.spec.iter().flat_map(|spec| spec.tls.iter().flatten()) {
                let Some(secret) = tls.secret_name.as_ref().filter(|name| !name.is_empty()) else { continue };
                let key = Key::new(ingress.namespace().unwrap_or_default(), secret.clone());
                named.insert(key.clone());
                let Some(certificate) = all.read(&key, secrets, before) else { continue };
                let listed: Vec<&str> = tls.hosts.iter().flatten().map(String::as_str).collect();
                let meant = if listed.is_empty() { hosts(ingress).collect() } else { listed };
                if meant.is_empty() {
                    all.fallback.get_or_insert(certificate.clone());
                }
                for host in meant {
                    let host = host.to_ascii_lowercase();
                    let (map, name) = match host.strip_prefix('*') {
                        Some(rest) => (&mut all.wildcards, rest),
                        None => (&mut all.hosts, &*host),
                    };
                    map.entry(name.into()).or_insert_with(|| certificate.clone());
                }
            }
        }
        (all, named)
    }

    fn read(
        &mut self,
        key: &Key,
        secrets: &Cache<TlsSecret>,
        before: Option<&Self>,
    ) -> Option<Arc<CertifiedKey>> {
        let secret = secrets.get(key)?;
        let version = secret.metadata.resource_version.clone();
        let known = self.read.get(key).or_else(|| before?.read.get(key));
        let read = match known.filter(|known| known.version == version) {
            Some(known) => known.clone(),
            None => Read { version, certificate: certified(&secret, key) },
        };
        self.read.insert(key.clone(), read.clone());
        read.certificate
    }

    fn find(&self, host: &str) -> Option<&Arc<CertifiedKey>> {
        let exact = self.hosts.get(host);
        exact.or_else(|| self.wildcards.get(&host[host.find('.')?..])).or(self.fallback.as_ref())
    }
}

fn certified(secret: &TlsSecret, key: &Key) -> Option<Arc<CertifiedKey>> {
    let read = || -> Result<CertifiedKey, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&secret.certificate).collect();
        let chain = chain.map_err(|error| format!("tls.crt: {error}"))?;
        let private =
            PrivateKeyDer::from_pem_slice(&secret.key).map_err(|error| format!("tls.key: {error}"))?;
        CertifiedKey::from_der(chain, private, &provider()).map_err(|error| error.to_string())
    };
    match read() {
        Ok(certificate) => Some(Arc::new(certificate)),
        Err(why) => {
            tracing::warn!("Secret {key} is of no use for TLS: {why}");
            None
        }
    }
}

pub(crate) fn provider() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

/// Chooses for each new connection, out of the table of that moment.
pub(crate) struct Chooser {
    pub(crate) routes: Arc<ArcSwap<Routes>>,
    pub(crate) own: Arc<dyn ResolvesServerCert>,
}

impl std::fmt::Debug for Chooser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chooser").finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Chooser {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let routes = self.routes.load();
        let name = hello.server_name().unwrap_or_default().to_ascii_lowercase();
        match routes.certificates.find(&name) {
            Some(certificate) => Some(certificate.clone()),
            None => self.own.resolve(hello),
        }
    }
}
