//! Who are you: certificates, bearer tokens, nobody. Says who, never what they may.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use kedge_kinds::{Reason, Status};
use kedge_registry::User;

use crate::api::Api;
use crate::joining;

pub(crate) const AUTHENTICATED: &str = "system:authenticated";

/// Who is at the other end, as far as the connection tells.
#[derive(Clone, Debug, Default)]
pub enum Peer {
    /// A part of this process, or whoever a test pretends to be.
    Inside(Arc<User>),
    /// A certificate that our authority signed.
    Certified { user: Arc<User>, until: Timestamp },
    /// A certificate that we don't trust; why, for the log.
    Doubtful(String),
    #[default]
    Nobody,
}

impl Peer {
    /// The common name is the user, the organizations are its groups.
    pub fn certified(subject: kedge_pki::Subject) -> Self {
        let mut groups = subject.organizations;
        groups.push(AUTHENTICATED.to_owned());
        let user = User { name: subject.common_name, groups, ..User::default() };
        Peer::Certified { user: user.into(), until: subject.not_after }
    }
}

pub(crate) fn unauthorized() -> Status {
    Status::new(401, Reason::Unauthorized, "Unauthorized")
}

/// Whoever sent the request. A bad credential is refused unless there is a good one too; it is not read as none.
pub(crate) async fn authenticate(api: &Api, peer: &Peer, headers: &HeaderMap) -> Result<Arc<User>, Status> {
    let refused = match peer {
        Peer::Inside(user) => return Ok(user.clone()),
        Peer::Certified { user, until } if api.clock().now() <= *until => return Ok(user.clone()),
        Peer::Certified { .. } => true,
        Peer::Doubtful(why) => {
            tracing::debug!(%why, "refused a client certificate");
            true
        }
        Peer::Nobody => false,
    };
    let Some(header) = headers.get(AUTHORIZATION) else {
        return if refused { Err(unauthorized()) } else { Ok(anonymous().into()) };
    };
    let token = header.to_str().ok().and_then(|text| text.split_once(' '));
    let Some((_, token)) = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
        return Err(unauthorized());
    };
    let own = [api.tokens().issuer().to_owned()];
    let (user, _) = Box::pin(bearer(api, token.trim(), &own)).await.map_err(|why| {
        tracing::debug!(%why, "refused a bearer token");
        unauthorized()
    })?;
    Ok(user.into())
}

/// The user of a token, and for which of `audiences` it is good; the error is for people.
pub(crate) async fn bearer(
    api: &Api,
    token: &str,
    audiences: &[String],
) -> Result<(User, Vec<String>), String> {
    if let Some(user) = api.static_token(token) {
        return for_us_alone(api, user, audiences);
    }
    let joins = joining::user(api.registry(), token, api.clock().now()).await;
    if let Some(user) = joins.map_err(|error| error.to_string())? {
        return for_us_alone(api, user, audiences);
    }
    api.tokens().check(api.registry(), token, audiences).await.map_err(|error| error.to_string())
}

/// What says nothing of audiences is good for us alone.
fn for_us_alone(api: &Api, user: User, audiences: &[String]) -> Result<(User, Vec<String>), String> {
    let own = api.tokens().issuer();
    match audiences.iter().any(|audience| audience == own) {
        true => Ok((user, vec![own.to_owned()])),
        false => Err("the token is not for any of these audiences".to_owned()),
    }
}

fn anonymous() -> User {
    User {
        name: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..User::default()
    }
}
