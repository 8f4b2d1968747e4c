//! Tokens that lie in a Secret and never end: worth something only as long as that Secret holds this very token.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kedge_registry::{Registry, User};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Bound, TokenError, Tokens, account_user, find, still_there};
use kedge_kinds::Status;

pub(crate) const ISSUER: &str = "kubernetes/serviceaccount";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    secret: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    account: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid")]
    uid: String,
    sub: String,
}

impl Tokens {
    /// The token that the Secret named `secret` is to hold for an account.
    pub(crate) fn issue_legacy(
        &self,
        namespace: &str,
        secret: &str,
        account: &str,
        uid: &str,
    ) -> Result<String, Status> {
        self.sign(&Claims {
            iss: ISSUER.to_owned(),
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
            account: account.to_owned(),
            uid: uid.to_owned(),
            sub: format!("system:serviceaccount:{namespace}:{account}"),
        })
    }

    pub(super) async fn check_legacy(
        &self,
        registry: &Registry,
        token: &str,
        claims: &Claims,
    ) -> Result<User, TokenError> {
        let Claims { namespace, secret, account, uid, .. } = claims;
        let gone = || TokenError::Gone { kind: "secrets", name: secret.clone() };
        let held: Value = find(registry, "secrets", namespace, secret).await?.ok_or_else(gone)?;
        let stored = held["data"]["token"].as_str().and_then(|text| STANDARD.decode(text).ok());
        let leaving = held["metadata"]["deletionTimestamp"].is_string();
        let revoked = held["metadata"]["labels"][INVALID_SINCE].is_string();
        let same = stored.is_some_and(|stored| super::same(&stored, token.as_bytes()));
        if leaving || revoked || !same || held["type"] != "kubernetes.io/service-account-token" {
            return Err(gone());
        }
        let bound = Bound { name: account.clone(), uid: uid.clone() };
        still_there(registry, &self.clock, "serviceaccounts", namespace, &bound).await?;
        Ok(account_user(namespace, &bound))
    }
}
