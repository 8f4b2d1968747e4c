//! Asks the API server whose a token is and who may what, and remembers the answers for a little while.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use futures::future::BoxFuture;
use jiff::Timestamp;
use kedge_clock::Clock;
use kube::Client;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Judge, JudgeError, User};
use crate::route::Right;

/// How long an answer is good for. A right that was taken away must be gone soon; one that was given is waited for.
const TOKEN: Duration = Duration::from_secs(30);
const ALLOWED: Duration = Duration::from_secs(60);
const REFUSED: Duration = Duration::from_secs(5);
const MOST: usize = 1024;

/// The answer to a review of either kind.
#[derive(Deserialize)]
struct Review {
    #[serde(default)]
    status: Said,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    authenticated: bool,
    user: Option<Told>,
    allowed: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Told {
    username: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

pub struct Reviews {
    client: Client,
    clock: Clock,
    node: String,
    /// By the token's digest: the token itself is not kept.
    tokens: Memory<Vec<u8>, User>,
    rights: Memory<(User, Right), bool>,
}

impl Reviews {
    pub fn new(client: Client, clock: Clock, node: impl Into<String>) -> Self {
        Self {
            client,
            clock: clock.steady(),
            node: node.into(),
            tokens: Memory::default(),
            rights: Memory::default(),
        }
    }

    async fn ask_who(&self, token: &str) -> Result<Option<User>, JudgeError> {
        let key = digest(&SHA256, token.as_bytes()).as_ref().to_vec();
        let now = self.clock.now();
        if let Some(user) = self.tokens.get(&key, now) {
            return Ok(Some(user));
        }
        let said = self.ask("authentication", "TokenReview", json!({"token": token})).await?;
        let Some(told) = said.user.filter(|_| said.authenticated) else { return Ok(None) };
        let user = User { name: told.username, uid: told.uid, groups: told.groups, extra: told.extra };
        self.tokens.put(key, user.clone(), now, TOKEN);
        Ok(Some(user))
    }

    async fn ask_may(&self, user: &User, right: Right) -> Result<bool, JudgeError> {
        let (key, now) = ((user.clone(), right), self.clock.now());
        if let Some(allowed) = self.rights.get(&key, now) {
            return Ok(allowed);
        }
        let question = json!({
            "user": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra,
            "resourceAttributes": {
                "verb": right.verb, "version": "v1", "resource": "nodes", "subresource": right.subresource,
                "name": self.node,
            },
        });
        let allowed = self.ask("authorization", "SubjectAccessReview", question).await?.allowed;
        self.rights.put(key, allowed, now, if allowed { ALLOWED } else { REFUSED });
        Ok(allowed)
    }

    async fn ask(&self, family: &str, kind: &str, question: Value) -> Result<Said, JudgeError> {
        let group = format!("{family}.k8s.io");
        let review = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "spec": question}).to_string();
        let request = http::Request::post(format!("/apis/{group}/v1/{}s", kind.to_lowercase()))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(review.into_bytes());
        let failed = |error| JudgeError::Ask(Box::new(error));
        let request = request.map_err(kube::Error::HttpError).map_err(failed)?;
        let answer: Review = self.client.request(request).await.map_err(failed)?;
        Ok(answer.status)
    }
}

impl Judge for Reviews {
    fn who<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, JudgeError>> {
        Box::pin(self.ask_who(token))
    }

    fn may<'a>(
        &'a self,
        user: &'a User,
        verb: &'static str,
        subresource: &'static str,
    ) -> BoxFuture<'a, Result<bool, JudgeError>> {
        Box::pin(self.ask_may(user, Right { verb, subresource }))
    }
}

/// Answers that are good until a moment.
pub(super) struct Memory<K, V>(Mutex<HashMap<K, (V, Timestamp)>>);

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<K: Hash + Eq, V: Clone> Memory<K, V> {
    pub(super) fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        let known = self.0.lock();
        known.get(key).filter(|(_, until)| now < *until).map(|(value, _)| value.clone())
    }

    pub(super) fn put(&self, key: K, value: V, now: Timestamp, good_for: Duration) {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.retain(|_, (_, until)| now < *until);
        }
        // Whoever comes with more names than that is asked about each time.
        if known.len() < MOST {
            known.insert(key, (value, now.saturating_add(good_for).unwrap_or(now)));
        }
    }
}
