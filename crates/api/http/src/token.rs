//! Service-account tokens: signed with the key of the data folder (ES256), checked against it and against what they are
//! bound to. A token whose account, pod or secret is gone is worth nothing, whatever its signature says.

mod keys;
mod legacy;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use kedge_clock::Clock;
use kedge_kinds::Status;
use kedge_registry::{At, Registry, User};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How far a clock that checks may lag the clock that signed.
const LEEWAY_SECONDS: i64 = 10;
/// How long after its end an object may still speak, for those who see it leave late.
const LEAVING_SECONDS: i64 = 60;
/// Tokens whose signature need not be checked again.
const REMEMBERED: usize = 4096;

pub(crate) struct Tokens {
    issuer: String,
    sign: EncodingKey,
    verify: DecodingKey,
    public: keys::PublicKey,
    clock: Clock,
    verified: Mutex<HashMap<Box<str>, Arc<Read>>>,
}

/// What a token with a good signature says.
#[derive(Clone, Debug, PartialEq)]
enum Read {
    Bound(Box<Claims>),
    Legacy(legacy::Claims),
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
    /// From when on its use is remarked on: the token lives longer than was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warnafter: Option<i64>,
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
    #[error("[invalid bearer token, token audiences {0:?} is invalid for the target audiences {1:?}]")]
    Audience(Vec<String>, Vec<String>),
    #[error("{kind} {name} that the token is bound to is gone")]
    Gone { kind: &'static str, name: String },
    #[error("the token cannot be checked at the moment")]
    Unavailable(#[source] Status),
}

impl Tokens {
    /// `key` is a PKCS#8 PEM, `public` its other half.
    pub(crate) fn new(
        issuer: String,
        key: &str,
        public: &str,
        clock: Clock,
    ) -> Result<Self, jsonwebtoken::errors::Error> {
        let unusable = || jsonwebtoken::errors::Error::from(jsonwebtoken::errors::ErrorKind::InvalidEcdsaKey);
        Ok(Self {
            public: keys::PublicKey::of(public).ok_or_else(unusable)?,
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
        self.sign(claims)
    }

    fn sign(&self, claims: &impl Serialize) -> Result<String, Status> {
        let mut header = Header::new(Algorithm::ES256);
        header.typ = None;
        header.kid = Some(self.public.id.clone());
        jsonwebtoken::encode(&header, claims, &self.sign).map_err(|error| Status::internal(error.to_string()))
    }

    /// With what others can check our tokens.
    pub(crate) fn key_set(&self) -> Value {
        self.public.set()
    }

    /// Where others find out how to check our tokens.
    pub(crate) fn discovery(&self, keys_at: &str) -> Value {
        json!({
            "issuer": self.issuer,
            "jwks_uri": keys_at,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }

    /// Who the token speaks for, and for which of `audiences` it is good; at least for one.
    pub(crate) async fn check(
        &self,
        registry: &Registry,
        token: &str,
        audiences: &[String],
    ) -> Result<(User, Vec<String>), TokenError> {
        let read = self.read(token)?;
        let claims = match &*read {
            Read::Bound(claims) => claims,
            // It says nothing of audiences, so it is good for us alone.
            Read::Legacy(_) if !audiences.contains(&self.issuer) => {
                return Err(TokenError::Audience(vec![self.issuer.clone()], audiences.to_vec()));
            }
            Read::Legacy(claims) => {
                let user = self.check_legacy(registry, token, claims).await?;
                return Ok((user, vec![self.issuer.clone()]));
            }
        };
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
            return Err(TokenError::Audience(claims.aud.clone(), audiences.to_vec()));
        }
        let private = &claims.private;
        let there = async |plural, namespace, bound: &Bound| {
            still_there(registry, &self.clock, plural, namespace, bound).await
        };
        let namespace = private.namespace.as_str();
        there("serviceaccounts", namespace, &private.serviceaccount).await?;
        if let Some(secret) = &private.secret {
            there("secrets", namespace, secret).await?;
        }
        match (&private.pod, &private.node) {
            (Some(pod), _) => drop(there("pods", namespace, pod).await?),
            (None, Some(node)) => drop(there("nodes", "", node).await?),
            (None, None) => {}
        }
        Ok((user(claims), good_for))
    }

    fn read(&self, token: &str) -> Result<Arc<Read>, TokenError> {
        if let Some(read) = self.verified.lock().get(token) {
            return Ok(read.clone());
        }
        let mut validation = Validation::new(Algorithm::ES256);
        // Times and audiences are checked against our own clock and wishes.
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let data = jsonwebtoken::decode::<Value>(token, &self.verify, &validation)
            .map_err(TokenError::Unreadable)?;
        let issuer = data.claims["iss"].as_str().unwrap_or_default().to_owned();
        let unreadable = |error: serde_json::Error| TokenError::Unreadable(error.into());
        let read = match &*issuer {
            legacy::ISSUER => Read::Legacy(serde_json::from_value(data.claims).map_err(unreadable)?),
            own if own == self.issuer => {
                Read::Bound(serde_json::from_value(data.claims).map_err(unreadable)?)
            }
            _ => return Err(TokenError::Foreign(issuer)),
        };
        let read = Arc::new(read);
        let mut verified = self.verified.lock();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(token.into(), read.clone());
        Ok(read)
    }
}

/// Takes as long for a near miss as for a far one.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// An object of the core group; `None` if there is none of this name.
pub(crate) async fn find(
    registry: &Registry,
    plural: &'static str,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, TokenError> {
    let Some(kind) = registry.catalog().kind("", "v1", plural).cloned() else { return Ok(None) };
    let at = At {
        namespace: kind.namespaced.then(|| namespace.into()),
        name: Some(name.into()),
        subresource: None,
        kind,
    };
    match registry.get(&at, "").await {
        Ok(found) => serde_json::from_slice(found.served.as_ref())
            .map(Some)
            .map_err(|error| TokenError::Unavailable(Status::internal(error.to_string()))),
        Err(status) if status.code == 404 => Ok(None),
        Err(status) => Err(TokenError::Unavailable(status)),
    }
}

async fn still_there(
    registry: &Registry,
    clock: &Clock,
    plural: &'static str,
    namespace: &str,
    bound: &Bound,
) -> Result<Value, TokenError> {
    let gone = || TokenError::Gone { kind: plural, name: bound.name.clone() };
    let object = find(registry, plural, namespace, &bound.name).await?.ok_or_else(gone)?;
    let metadata = &object["metadata"];
    let ends = metadata["deletionTimestamp"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    // A pod that is being deleted still runs for a while and may still speak.
    let left = ends.is_some_and(|ends| ends.as_second() + LEAVING_SECONDS < clock.now().as_second());
    if metadata["uid"] != bound.uid.as_str() || left { Err(gone()) } else { Ok(object) }
}

fn user(claims: &Claims) -> User {
    let private = &claims.private;
    let mut user = account_user(&private.namespace, &private.serviceaccount);
    let mut add = |key: &str, value: &str| {
        if !value.is_empty() {
            user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]);
        }
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
    user
}

fn account_user(namespace: &str, account: &Bound) -> User {
    User {
        name: format!("system:serviceaccount:{namespace}:{}", account.name),
        uid: account.uid.clone(),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ],
        extra: BTreeMap::new(),
    }
}
