//! Service-account tokens: signed with the key of the data folder (ES256), checked against it and against what they are
//! bound to. A token whose account, pod or secret is gone is worth nothing, whatever its signature says.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use kedge_clock::Clock;
use kedge_kinds::Status;
use kedge_registry::{At, Registry, User};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// How far a clock that checks may lag the clock that signed.
const LEEWAY_SECONDS: i64 = 10;
/// Tokens whose signature need not be checked again.
const REMEMBERED: usize = 4096;

pub(crate) struct Tokens {
    issuer: String,
    sign: EncodingKey,
    verify: DecodingKey,
    clock: Clock,
    verified: Mutex<HashMap<Box<str>, Arc<Claims>>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) aud: Vec<String>,
    pub(crate) exp: i64,
    pub(crate) iat: i64,
    pub(crate) iss: String,
    pub(crate) jti: String,
    #[serde(rename = "kubernetes.io")]
    pub(crate) private: Private,
    pub(crate) nbf: i64,
    pub(crate) sub: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Private {
    pub(crate) namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pod: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Bound>,
    pub(crate) serviceaccount: Bound,
}

/// An object by name, and which of all that ever had the name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Bound {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// Why a token was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("invalid bearer token")]
    Unreadable(#[source] jsonwebtoken::errors::Error),
    #[error("token was issued by {0:?}")]
    Foreign(String),
    #[error("token is expired")]
    Expired,
    #[error("token is not valid yet")]
    TooEarly,
    #[error("token audiences {0:?} is invalid for the target audiences")]
    Audience(Vec<String>),
    #[error("{kind} {name} that the token is bound to is gone")]
    Gone { kind: &'static str, name: String },
    #[error("the token cannot be checked at the moment")]
    Unavailable(#[source] Status),
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    uid: String,
    deletion_timestamp: Option<String>,
}

impl Tokens {
    /// `key` is a PKCS#8 PEM, `public` its other half.
    pub(crate) fn new(
        issuer: String,
        key: &str,
        public: &str,
        clock: Clock,
    ) -> Result<Self, jsonwebtoken::errors::Error> {
        Ok(Self {
            issuer,
            sign: EncodingKey::from_ec_pem(key.as_bytes())?,
            verify: DecodingKey::from_ec_pem(public.as_bytes())?,
            clock,
            verified: Mutex::default(),
        })
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn issue(&self, claims: &Claims) -> Result<String, Status> {
        jsonwebtoken::encode(&Header::new(Algorithm::ES256), claims, &self.sign)
            .map_err(|error| Status::internal(error.to_string()))
    }

    /// Who the token speaks for, and for which of `audiences` it is good; at least for one.
    pub(crate) async fn check(
        &self,
        registry: &Registry,
        token: &str,
        audiences: &[String],
    ) -> Result<(User, Vec<String>), TokenError> {
        let claims = self.claims(token)?;
        let now = self.clock.now().as_second();
        if claims.exp <= now {
            return Err(TokenError::Expired);
        }
        if claims.nbf > now + LEEWAY_SECONDS {
            return Err(TokenError::TooEarly);
        }
        let good_for: Vec<String> =
            claims.aud.iter().filter(|audience| audiences.contains(audience)).cloned().collect();
        if good_for.is_empty() {
            return Err(TokenError::Audience(claims.aud.clone()));
        }
        let private = &claims.private;
        still_there(registry, "serviceaccounts", &private.namespace, &private.serviceaccount).await?;
        if let Some(pod) = &private.pod {
            still_there(registry, "pods", &private.namespace, pod).await?;
        }
        if let Some(secret) = &private.secret {
            still_there(registry, "secrets", &private.namespace, secret).await?;
        }
        if let (Some(node), None) = (&private.node, &private.pod) {
            still_there(registry, "nodes", "", node).await?;
        }
        Ok((user(&claims), good_for))
    }

    fn claims(&self, token: &str) -> Result<Arc<Claims>, TokenError> {
        if let Some(claims) = self.verified.lock().get(token) {
            return Ok(claims.clone());
        }
        let mut validation = Validation::new(Algorithm::ES256);
        // Times and audiences are checked against our own clock and wishes.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let data = jsonwebtoken::decode::<Claims>(token, &self.verify, &validation)
            .map_err(TokenError::Unreadable)?;
        if data.claims.iss != self.issuer {
            return Err(TokenError::Foreign(data.claims.iss));
        }
        let claims = Arc::new(data.claims);
        let mut verified = self.verified.lock();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(token.into(), claims.clone());
        Ok(claims)
    }
}

async fn still_there(
    registry: &Registry,
    plural: &'static str,
    namespace: &str,
    bound: &Bound,
) -> Result<(), TokenError> {
    let gone = || TokenError::Gone { kind: plural, name: bound.name.clone() };
    let kind = registry.catalog().kind("", "v1", plural).cloned().ok_or_else(gone)?;
    let at = At {
        namespace: kind.namespaced.then(|| namespace.into()),
        name: Some(bound.name.as_str().into()),
        subresource: None,
        kind,
    };
    let found = match registry.get(&at, "").await {
        Ok(found) => found,
        Err(status) if status.code == 404 => return Err(gone()),
        Err(status) => return Err(TokenError::Unavailable(status)),
    };
    let object: Object = serde_json::from_slice(&found.bytes).map_err(|_| gone())?;
    // A pod that is being deleted still runs and may still speak; an account that is being deleted may not.
    let leaving = plural == "serviceaccounts" && object.metadata.deletion_timestamp.is_some();
    if object.metadata.uid != bound.uid || leaving { Err(gone()) } else { Ok(()) }
}

fn user(claims: &Claims) -> User {
    let private = &claims.private;
    let mut extra = BTreeMap::new();
    let mut add = |key: &str, value: &str| {
        extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]);
    };
    add("credential-id", &format!("JTI={}", claims.jti));
    if let Some(pod) = &private.pod {
        add("pod-name", &pod.name);
        add("pod-uid", &pod.uid);
    }
    if let Some(node) = &private.node {
        add("node-name", &node.name);
        add("node-uid", &node.uid);
    }
    let namespace = &private.namespace;
    User {
        name: format!("system:serviceaccount:{namespace}:{}", private.serviceaccount.name),
        uid: private.serviceaccount.uid.clone(),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ],
        extra,
    }
}
