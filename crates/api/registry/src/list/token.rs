//! What `continue` carries: the revision of the first page, the last key of the one before, and when it was given. Opaque to clients.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use kedge_kinds::Status;
use kedge_store::{Key, Revision};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) v: String,
    /// Absent where the rest may come from any newer state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rv: Option<u64>,
    /// The last key handed out, without the prefix of its kind and namespace.
    #[serde(rename = "start")]
    pub(super) after: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) remaining: Option<u64>,
    /// In seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) given: Option<i64>,
}

/// Clients count on it that a token ends, so it does even where the state of its time is still known.
const LASTS: SignedDuration = SignedDuration::from_mins(5);

const VERSION: &str = "meta.k8s.io/v1";

impl Token {
    pub(super) fn new(
        revision: Revision,
        last: &Key,
        prefix: &str,
        remaining: Option<u64>,
        now: Timestamp,
    ) -> Self {
        let after = last.as_str().strip_prefix(prefix).unwrap_or_default().to_owned();
        let given = Some(now.as_second());
        Self { v: VERSION.to_owned(), rv: Some(revision.get()), after, remaining, given }
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.rv.map(Revision::new)
    }

    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.given.is_some_and(|given| now.as_second().saturating_sub(given) > LASTS.as_secs())
    }

    pub(super) fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    pub(super) fn parse(text: &str, prefix: &str) -> Result<Self, Status> {
        let refuse = |why: String| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|error| refuse(error.to_string()))?;
        let token: Token = serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        if token.v != VERSION {
            return Err(refuse(format!("server does not recognize this encoded version {:?}", token.v)));
        }
        // A start that climbs out of its prefix would show other kinds or namespaces.
        if token.after.is_empty()
            || token.after.split('/').any(|part| part.is_empty() || part == "." || part == "..")
        {
            return Err(refuse(format!("{:?} is not a key below {prefix}", token.after)));
        }
        Ok(token)
    }
}
