//! Reads a kubeconfig into an address and a TLS set-up. Takes certificates, keys and tokens, inline or as files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;

use crate::BenchError;

/// An API server and how to talk to it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) token: Option<String>,
    /// In which form answers are wanted.
    pub(crate) accept: &'static str,
}

impl Target {
    pub(crate) fn load(path: &Path) -> Result<Self, BenchError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| BenchError::Read { path: path.to_owned(), source })?;
        let config: Value =
            serde_saphyr::from_str(&text).map_err(|error| unusable(path, &error.to_string()))?;
        let current = config["current-context"].as_str().unwrap_or_default();
        let context = named(path, &config, "contexts", "context", current)?;
        let cluster =
            named(path, &config, "clusters", "cluster", context["cluster"].as_str().unwrap_or_default())?;
        let user = named(path, &config, "users", "user", context["user"].as_str().unwrap_or_default())?;

        let server = cluster["server"].as_str().unwrap_or_default();
        let address =
            server.strip_prefix("https://").ok_or_else(|| unusable(path, "server is not https://"))?;
        let address = address.trim_end_matches('/');
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "443"));
        let port = port.parse().map_err(|_| unusable(path, "server has a bad port"))?;

        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            tls: Arc::new(tls(path, cluster, user)?),
            token: user["token"].as_str().map(str::to_owned),
            accept: "application/json",
        })
    }

    /// The same server, asked for protobuf.
    pub(crate) fn in_protobuf(&self) -> Self {
        Self { accept: "application/vnd.kubernetes.protobuf", ..self.clone() }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.accept == "application/json"
    }
}

fn tls(path: &Path, cluster: &Value, user: &Value) -> Result<ClientConfig, BenchError> {
    let mut roots = RootCertStore::empty();
    let ca = pem(path, cluster, "certificate-authority")?
        .ok_or_else(|| unusable(path, "no certificate-authority"))?;
    for certificate in CertificateDer::pem_slice_iter(&ca) {
        roots.add(certificate.map_err(|error| unusable(path, &error.to_string()))?)?;
    }
    let builder = ClientConfig::builder().with_root_certificates(roots);
    let mut config = match (pem(path, user, "client-certificate")?, pem(path, user, "client-key")?) {
        (Some(chain), Some(key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
            let chain = chain.map_err(|error| unusable(path, &error.to_string()))?;
            let key =
                PrivateKeyDer::from_pem_slice(&key).map_err(|error| unusable(path, &error.to_string()))?;
            builder.with_client_auth_cert(chain, key)?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// `name-data` inline, or the file that `name` points at.
fn pem(path: &Path, section: &Value, name: &str) -> Result<Option<Vec<u8>>, BenchError> {
    if let Some(data) = section[format!("{name}-data")].as_str() {
        let decoded =
            STANDARD.decode(data).map_err(|error| unusable(path, &format!("{name}-data: {error}")))?;
        return Ok(Some(decoded));
    }
    let Some(file) = section[name].as_str().map(PathBuf::from) else { return Ok(None) };
    let file = path.parent().map_or(file.clone(), |folder| folder.join(&file));
    std::fs::read(&file).map(Some).map_err(|source| BenchError::Read { path: file, source })
}

fn named<'v>(
    path: &Path,
    config: &'v Value,
    list: &str,
    part: &str,
    name: &str,
) -> Result<&'v Value, BenchError> {
    let items = config[list].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = items.iter().find(|item| item["name"] == name).map(|item| &item[part]);
    found.ok_or_else(|| unusable(path, &format!("{list} has no {name:?}")))
}

fn unusable(path: &Path, why: &str) -> BenchError {
    BenchError::Kubeconfig { path: path.to_owned(), why: why.to_owned() }
}
