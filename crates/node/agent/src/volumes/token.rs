//! Tokens of a pod's service account, each for this pod alone: it ends with the pod, and is renewed long before its time is up.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount, ServiceAccountTokenProjection};
use kube::Api;
use kube::api::PostParams;

use crate::tools::Tools;

/// However long a token is good, it is not kept longer.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);
const USUAL: i64 = 3600;

/// What makes a token the one that is wanted. Volumes that want the same share it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TokenWanted {
    audience: Option<String>,
    seconds: Option<i64>,
}

/// Never shown.
#[derive(Clone)]
pub(super) struct Token {
    pub(super) text: String,
    /// On the clock that only counts.
    pub(super) renew_at: Timestamp,
}

impl TokenWanted {
    pub(super) fn of(source: &ServiceAccountTokenProjection) -> Self {
        let audience = source.audience.clone().filter(|audience| !audience.is_empty());
        Self { audience, seconds: source.expiration_seconds }
    }
}

pub(super) async fn ask(tools: &Tools, pod: &Pod, wanted: &TokenWanted) -> Result<Token, kube::Error> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let account = pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref());
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: wanted.audience.clone().map(|audience| vec![audience]),
            expiration_seconds: wanted.seconds,
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Pod".to_owned()),
                name: pod.metadata.name.clone(),
                uid: pod.metadata.uid.clone(),
            }),
        }),
        ..TokenRequest::default()
    };
    let accounts = Api::<ServiceAccount>::namespaced(tools.client.clone(), namespace);
    let account = account.filter(|account| !account.is_empty()).unwrap_or("default");
    let made = accounts.create_token_request(account, &PostParams::default(), &request).await?;
    let seconds = made.spec.and_then(|spec| spec.expiration_seconds).or(wanted.seconds).unwrap_or(USUAL);
    let status = made.status.unwrap_or_default();
    Ok(Token { text: status.token.unwrap_or_default(), renew_at: renew_at(tools.steady.now(), seconds) })
}

/// After four fifths of its life, which has just begun. It is counted: the API's clock may not show what this machine's does.
fn renew_at(begun: Timestamp, seconds: i64) -> Timestamp {
    let life = SignedDuration::from_secs(seconds);
    begun.saturating_add((life - life / 5).min(LONGEST)).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_in_time() {
        let noon: Timestamp = "2030-01-01T12:00:00Z".parse().unwrap();
        for (life, renewed) in [(600, 480), (3607, 2885), (86_400, 69_120), (31_536_000, 86_400)] {
            assert_eq!(renew_at(noon, life).duration_since(noon).as_secs(), renewed, "{life}");
        }
    }
}
