//! `kube-public/cluster-info`: where the cluster is and whom it trusts, for a machine that wants to join and knows nothing
//! but a token. Signed with each token that is for signing, so that only the true one can answer.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use kedge_kinds::Status;
use serde_json::{Map, Value, json};

use super::{Duty, Tools, options};
use crate::joining;

const NAMESPACE: &str = "kube-public";
const NAME: &str = "cluster-info";
const TOKENS: &str = "kube-system/bootstrap-token-";

pub(super) struct ClusterInfo;

pub(super) struct Signatures;

impl Duty for ClusterInfo {
    fn prefix(&self) -> &'static str {
        "/registry/configmaps/kube-public/"
    }

    fn concerns<'k>(&self, key: &'k str) -> Option<&'k str> {
        (key == NAME || key == "kube-root-ca.crt").then_some(NAME)
    }

    async fn look(&self, tools: &Tools, _: &str) -> Result<Option<Timestamp>, Status> {
        publish(tools).await
    }
}

impl Duty for Signatures {
    fn prefix(&self) -> &'static str {
        "/registry/secrets/"
    }

    fn concerns<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.starts_with(TOKENS).then_some(NAME)
    }

    async fn look(&self, tools: &Tools, _: &str) -> Result<Option<Timestamp>, Status> {
        publish(tools).await
    }
}

async fn publish(tools: &Tools) -> Result<Option<Timestamp>, Status> {
    let registry = tools.api.registry();
    let live = tools.stored(&format!("/registry/configmaps/{NAMESPACE}/{NAME}"))?;
    // What an administrator wrote there stays; only the signatures are ours.
    let kubeconfig = match live.as_ref().and_then(|live| live["data"]["kubeconfig"].as_str()) {
        Some(text) => text.to_owned(),
        None => kubeconfig(tools),
    };
    let mut data = match live.as_ref().and_then(|live| live["data"].as_object()) {
        Some(data) => data.clone(),
        None => Map::new(),
    };
    data.retain(|key, _| !key.starts_with("jws-kubeconfig-"));
    data.insert("kubeconfig".to_owned(), kubeconfig.clone().into());
    let now = tools.api.clock().now();
    {
        let snapshot = registry.store().snapshot();
        for (_, entry) in snapshot.range(&format!("/registry/secrets/{TOKENS}"), None) {
            let secret: Value = serde_json::from_slice(entry.bytes())
                .map_err(|error| Status::internal(format!("a stored object can't be read: {error}")))?;
            if let Some((id, signature)) = signature(&secret, &kubeconfig, now) {
                data.insert(format!("jws-kubeconfig-{id}"), signature.into());
            }
        }
    }
    let data = Value::Object(data);
    match live {
        Some(live) if live["data"] == data => {}
        Some(mut live) => {
            live["data"] = data;
            let at = tools.at("", "configmaps", Some(NAMESPACE), Some(NAME))?;
            registry.update(&at, live, &options()).await?;
        }
        None => {
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": NAME }, "data": data });
            let at = tools.at("", "configmaps", Some(NAMESPACE), None)?;
            registry.create(&at, map, &options()).await?;
        }
    }
    Ok(None)
}

fn kubeconfig(tools: &Tools) -> String {
    let authority = STANDARD.encode(tools.authority.pem());
    let server = tools.api.address();
    format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {authority}\n    server: {server}\n  name: \"\"\ncontexts: null\ncurrent-context: \"\"\nkind: Config\npreferences: {{}}\nusers: null\n"
    )
}

/// The token's id and a JWS over `content` without the content itself; `None` for a token that is not for signing.
fn signature(secret: &Value, content: &str, now: Timestamp) -> Option<(String, String)> {
    let good = secret["type"] == joining::SECRET_TYPE
        && !secret["metadata"]["deletionTimestamp"].is_string()
        && joining::data(secret, "usage-bootstrap-signing")? == "true"
        && !joining::has_expired(secret, now);
    if !good {
        return None;
    }
    let (id, key) = (joining::data(secret, "token-id")?, joining::data(secret, "token-secret")?);
    let header = URL_SAFE_NO_PAD.encode(json!({ "alg": "HS256", "kid": id }).to_string());
    let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode(content));
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    let tag = URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes()));
    Some((id, format!("{header}..{tag}")))
}
