//! Who knocks, and whether they may come in: a certificate of the cluster's authority or a token, then a right on this node.

mod reviews;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, StatusCode};

pub use self::reviews::Reviews;
use crate::answer::Refusal;
use crate::route::{Right, rights};

/// Somebody who has shown who they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error("cannot ask the API server: {0}")]
    Ask(#[source] Box<kube::Error>),
}

/// Knows tokens and rights.
pub trait Judge: Send + Sync + 'static {
    /// Whose token it is, if anybody's.
    fn who<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Option<User>, JudgeError>>;

    /// Whether a user may do this to a subresource of this node.
    fn may<'a>(
        &'a self,
        user: &'a User,
        verb: &'static str,
        subresource: &'static str,
    ) -> BoxFuture<'a, Result<bool, JudgeError>>;
}

/// Lets a request in, or says why not.
pub(crate) async fn admit(
    judge: &dyn Judge,
    certified: Option<&User>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    let stranger = || Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized");
    let failed = |error: JudgeError| {
        tracing::warn!(%error, "cannot tell who may use this node");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    };
    let user = match certified {
        Some(user) => user.clone(),
        None => {
            let token = bearer(headers).ok_or_else(stranger)?;
            judge.who(token).await.map_err(failed)?.ok_or_else(stranger)?
        }
    };
    let wanted = rights(method, path);
    for Right { verb, subresource } in &wanted {
        if judge.may(&user, verb, subresource).await.map_err(failed)? {
            return Ok(());
        }
    }
    let verb = wanted.first().map_or("", |right| right.verb);
    let subresources: Vec<&str> = wanted.iter().map(|right| right.subresource).collect();
    let text = format!(
        "Forbidden (user={}, verb={verb}, resource=nodes, subresource(s)=[{}])\n",
        user.name,
        subresources.join(" ")
    );
    Err(Refusal::new(StatusCode::FORBIDDEN, text))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}
