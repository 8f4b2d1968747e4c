//! A token's Secret goes with its account.

use jiff::Timestamp;
use kedge_kinds::Status;
use serde_json::Value;

use super::{Duty, Tools};

pub(super) struct Accounts;

impl Duty for Accounts {
    fn prefix(&self) -> &'static str {
        "/registry/serviceaccounts/"
    }

    async fn look(&self, tools: &Tools, key: &str) -> Result<Option<Timestamp>, Status> {
        let snapshot = tools.api.registry().store().snapshot();
        let Some((namespace, account)) = key.split_once('/') else { return Ok(None) };
        if snapshot.get(&format!("{}{key}", self.prefix())).is_some() {
            return Ok(None);
        }
        let mut orphans = Vec::new();
        for (_, entry) in snapshot.range(&format!("/registry/secrets/{namespace}/"), None) {
            let secret: Value = serde_json::from_slice(entry.bytes())
                .map_err(|error| Status::internal(format!("a stored object can't be read: {error}")))?;
            let owner = &secret["metadata"]["annotations"]["kubernetes.io/service-account.name"];
            if secret["type"] == "kubernetes.io/service-account-token" && *owner == account {
                orphans.push(secret);
            }
        }
        drop(snapshot);
        for secret in orphans {
            let name = secret["metadata"]["name"].as_str().unwrap_or("");
            let at = tools.at("", "secrets", Some(namespace), Some(name))?;
            match tools.delete(&at, &secret).await {
                Err(status) if status.code != 404 => return Err(status),
                _ => {}
            }
        }
        Ok(None)
    }
}
