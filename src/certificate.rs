//! Certificates from an authority that is elsewhere: asked for through the API, as a CertificateSigningRequest. Knows no files and
//! nobody's rights.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use kedge_client::{Client, Objects};
use kedge_clock::Clock;
use kedge_pki::{Names, PkiError};
use kube::api::ObjectMeta;

/// What nodes may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signer {
    /// To be somebody to the API.
    Client,
    /// To be known by those who reach into the node.
    Serving,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    #[error("cannot make the request")]
    Pki(#[from] PkiError),
    #[error(transparent)]
    Api(#[from] Box<kube::Error>),
    #[error("cannot wait for the certificate")]
    Wait(#[from] kedge_client::WatchError),
    #[error("the cluster does not sign it: {0}")]
    Refused(String),
    #[error("nobody signed {0} in time: is there a server with controllers?")]
    Silence(String),
}

impl Signer {
    fn name(self) -> &'static str {
        match self {
            Signer::Client => "kubernetes.io/kube-apiserver-client-kubelet",
            Signer::Serving => "kubernetes.io/kubelet-serving",
        }
    }

    fn usages(self) -> Vec<String> {
        let purpose = match self {
            Signer::Client => "client auth",
            Signer::Serving => "server auth",
        };
        ["digital signature", purpose].map(str::to_owned).into()
    }
}

/// Whom a node's certificate names.
pub(crate) fn names(node: &str, hosts: Vec<String>) -> Names {
    Names { common_name: format!("system:node:{node}"), organization: Some("system:nodes".to_owned()), hosts }
}

/// A certificate (PEM) for this key, waited for as long as `patience`.
pub(crate) async fn ask(
    client: &Client,
    signer: Signer,
    names: &Names,
    key: &str,
    patience: Duration,
    clock: &Clock,
) -> Result<String, AskError> {
    let requests = Objects::<CertificateSigningRequest>::all(client);
    let new = CertificateSigningRequest {
        metadata: ObjectMeta { generate_name: Some("node-csr-".to_owned()), ..ObjectMeta::default() },
        spec: CertificateSigningRequestSpec {
            request: ByteString(kedge_pki::request(key, names)?.into_bytes()),
            signer_name: signer.name().to_owned(),
            usages: Some(signer.usages()),
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    };
    let made = requests.create(&new).await.map_err(Box::new)?;
    let name = made.metadata.name.unwrap_or_default();
    let answered = requests.until(&name, |request| request.is_none_or(|request| answer(request).is_some()));
    tokio::select! {
        done = answered => match done?.as_ref().map(answer) {
            Some(Some(Ok(certificate))) => Ok(certificate),
            Some(Some(Err(why))) => Err(AskError::Refused(why)),
            _ => Err(AskError::Refused(format!("{name} was removed"))),
        },
        () = clock.sleep(patience) => Err(AskError::Silence(name)),
    }
}

/// The certificate, or why there is none; `None` while nobody has said anything.
fn answer(request: &CertificateSigningRequest) -> Option<Result<String, String>> {
    let status = request.status.as_ref()?;
    if let Some(certificate) = status.certificate.as_ref().filter(|certificate| !certificate.0.is_empty()) {
        return Some(String::from_utf8(certificate.0.clone()).map_err(|error| error.to_string()));
    }
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let no = conditions.iter().find(|condition| matches!(&*condition.type_, "Denied" | "Failed"))?;
    Some(Err(no.message.clone().unwrap_or_else(|| no.type_.clone())))
}
