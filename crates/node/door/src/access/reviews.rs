//! Asks the API server whose a token is and who may what, and remembers the answers for a little while.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kedge_clock::Clock;
use kube::api::PostParams;
use kube::{Api, Client};
use parking_lot::Mutex;

use super::{Judge, JudgeError, User};
use crate::route::Right;

/// How long an answer is good for. A right that was taken away must be gone soon; one that was given is waited for.
const TOKEN: Duration = Duration::from_secs(30);
const ALLOWED: Duration = Duration::from_secs(60);
const REFUSED: Duration = Duration::from_secs(5);
const MOST: usize = 1024;

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
        Self { client, clock, node: node.into(), tokens: Memory::default(), rights: Memory::default() }
    }

    async fn ask_who(&self, token: &str) -> Result<Option<User>, JudgeError> {
        let key = digest(&SHA256, token.as_bytes()).as_ref().to_vec();
        let now = self.clock.now();
        if let Some(user) = self.tokens.get(&key, now) {
            return Ok(Some(user));
        }
        let review = TokenReview {
            spec: TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let answer =
            Api::<TokenReview>::all(self.client.clone()).create(&PostParams::default(), &review).await;
        let status = answer.map_err(|error| JudgeError::Ask(Box::new(error)))?.status.unwrap_or_default();
        let Some(told) = status.user.filter(|_| status.authenticated == Some(true)) else { return Ok(None) };
        let user = User {
            name: told.username.unwrap_or_default(),
            uid: told.uid.unwrap_or_default(),
            groups: told.groups.unwrap_or_default(),
            extra: told.extra.unwrap_or_default(),
        };
        self.tokens.put(key, user.clone(), now, TOKEN);
        Ok(Some(user))
    }

    async fn ask_may(&self, user: &User, right: Right) -> Result<bool, JudgeError> {
        let (key, now) = ((user.clone(), right), self.clock.now());
        if let Some(allowed) = self.rights.get(&key, now) {
            return Ok(allowed);
        }
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.name.clone()),
                uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
                groups: Some(user.groups.clone()),
                extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
                resource_attributes: Some(ResourceAttributes {
                    verb: Some(right.verb.to_owned()),
                    version: Some("v1".to_owned()),
                    resource: Some("nodes".to_owned()),
                    subresource: Some(right.subresource.to_owned()),
                    name: Some(self.node.clone()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews = Api::<SubjectAccessReview>::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| JudgeError::Ask(Box::new(error)))?;
        let allowed = answer.status.is_some_and(|status| status.allowed);
        self.rights.put(key, allowed, now, if allowed { ALLOWED } else { REFUSED });
        Ok(allowed)
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
