//! Secrets that are credentials: those of type `service-account-token` are filled, bootstrap tokens whose time is over
//! are removed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kedge_kinds::Status;
use serde_json::Value;

use super::{Duty, Tools, options};
use crate::joining;

const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const TOKEN: &str = "kubernetes.io/service-account-token";

pub(super) struct Secrets;

impl Duty for Secrets {
    fn prefix(&self) -> &'static str {
        "/registry/secrets/"
    }

    async fn look(&self, tools: &Tools, key: &str) -> Result<Option<Timestamp>, Status> {
        {
            // Most Secrets are none of ours; those are not even read.
            let snapshot = tools.api.registry().store().snapshot();
            let Some(entry) = snapshot.get(&format!("{}{key}", self.prefix())) else { return Ok(None) };
            if ![TOKEN, joining::SECRET_TYPE].iter().any(|kind| contains(entry.bytes(), kind.as_bytes())) {
                return Ok(None);
            }
        }
        let Some(secret) = tools.stored(&format!("{}{key}", self.prefix()))? else { return Ok(None) };
        let Some((namespace, name)) = key.split_once('/') else { return Ok(None) };
        match secret["type"].as_str() {
            Some(TOKEN) => fill(tools, namespace, name, secret).await.map(|()| None),
            Some(joining::SECRET_TYPE) if namespace == "kube-system" => {
                expire(tools, namespace, name, &secret).await
            }
            _ => Ok(None),
        }
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

async fn expire(
    tools: &Tools,
    namespace: &str,
    name: &str,
    secret: &Value,
) -> Result<Option<Timestamp>, Status> {
    let ends = joining::data(secret, "expiration").and_then(|text| text.parse().ok());
    let Some(ends): Option<Timestamp> = ends else { return Ok(None) };
    if ends > tools.api.clock().now() {
        return Ok(Some(ends));
    }
    let at = tools.at("", "secrets", Some(namespace), Some(name))?;
    tools.delete(&at, secret).await.map(|()| None)
}

/// Gives the Secret its account's token, or removes it if the account is not there.
async fn fill(tools: &Tools, namespace: &str, name: &str, mut secret: Value) -> Result<(), Status> {
    if secret["metadata"]["deletionTimestamp"].is_string() {
        return Ok(());
    }
    let at = tools.at("", "secrets", Some(namespace), Some(name))?;
    let annotations = &secret["metadata"]["annotations"];
    let account_name = annotations[ACCOUNT].as_str().unwrap_or("").to_owned();
    let account = tools.stored(&format!("/registry/serviceaccounts/{namespace}/{account_name}"))?;
    let Some(account) = account.filter(|account| {
        let uid = &annotations[ACCOUNT_UID];
        !uid.is_string() || *uid == account["metadata"]["uid"]
    }) else {
        return tools.delete(&at, &secret).await;
    };
    let uid = account["metadata"]["uid"].as_str().unwrap_or("").to_owned();
    let mut changed = false;
    let mut put = |field: &mut Value, value: String| {
        if field.as_str() != Some(&value) {
            *field = value.into();
            changed = true;
        }
    };
    put(&mut secret["metadata"]["annotations"][ACCOUNT_UID], uid.clone());
    put(&mut secret["data"]["ca.crt"], STANDARD.encode(tools.authority.pem()));
    put(&mut secret["data"]["namespace"], STANDARD.encode(namespace));
    if secret["data"]["token"].as_str().is_none_or(str::is_empty) {
        let token = tools.api.tokens().issue_legacy(namespace, name, &account_name, &uid)?;
        put(&mut secret["data"]["token"], STANDARD.encode(token));
    }
    if changed {
        tools.api.registry().update(&at, secret, &options()).await?;
    }
    Ok(())
}
