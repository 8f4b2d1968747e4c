//! Who are you: certificates, bearer tokens, nobody; and on whose behalf. Says who, never what they may.

use std::sync::Arc;

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderValue};
use jiff::Timestamp;
use kedge_kinds::{Reason, Status};
use kedge_registry::User;
use percent_encoding::percent_decode_str;

use crate::api::Api;
use crate::rbac::{Ask, What};

const AUTHENTICATED: &str = "system:authenticated";

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
        // It says nothing of audiences, so it is good for us alone.
        let own = api.tokens().issuer();
        return match audiences.iter().any(|audience| audience == own) {
            true => Ok((user, vec![own.to_owned()])),
            false => Err("the token is not for any of these audiences".to_owned()),
        };
    }
    api.tokens().check(api.registry(), token, audiences).await.map_err(|error| error.to_string())
}

fn anonymous() -> User {
    User {
        name: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..User::default()
    }
}

const EXTRA: &str = "impersonate-extra-";

/// A header that cannot be read is refused, never taken for one that is not there.
fn text(value: &HeaderValue) -> Result<&str, Status> {
    std::str::from_utf8(value.as_bytes())
        .map_err(|_| Status::bad_request("an Impersonate header is not UTF-8"))
}

/// The user that the request is to be carried out as: the one who sent it, or the one it names in `Impersonate-*`.
pub(crate) fn acting(api: &Api, sender: Arc<User>, headers: &HeaderMap) -> Result<Arc<User>, Status> {
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(sender);
    }
    let name = headers.get("impersonate-user").map(text).transpose()?;
    let uid = headers.get("impersonate-uid").map(text).transpose()?;
    let groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .map(|value| text(value).map(str::to_owned))
        .collect::<Result<_, _>>()?;
    let extras: Vec<(String, String)> = headers
        .iter()
        .filter_map(|(key, value)| Some((key.as_str().strip_prefix(EXTRA)?, value)))
        .map(|(key, value)| {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            Ok((key, text(value)?.to_owned()))
        })
        .collect::<Result<_, Status>>()?;
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        if name.is_none() && uid.is_none() && groups.is_empty() && extras.is_empty() {
            return Ok(sender);
        }
        let asked = "impersonating groups, a UID or extra fields needs a user to impersonate as well";
        return Err(Status::bad_request(asked));
    };
    let uid = uid.unwrap_or("");

    let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    match account {
        Some((namespace, account)) => may(api, &sender, "", "serviceaccounts", "", namespace, account)?,
        None => may(api, &sender, "", "users", "", "", name)?,
    }
    for group in &groups {
        may(api, &sender, "", "groups", "", "", group)?;
    }
    if !uid.is_empty() {
        may(api, &sender, "authentication.k8s.io", "uids", "", "", uid)?;
    }
    let mut user = User { name: name.to_owned(), uid: uid.to_owned(), groups, ..User::default() };
    for (key, value) in extras {
        may(api, &sender, "authentication.k8s.io", "userextras", &key, "", &value)?;
        user.extra.entry(key).or_default().push(value);
    }
    if let (Some((namespace, _)), true) = (account, user.groups.is_empty()) {
        user.groups =
            vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    }
    let is_anonymous = user.name == "system:anonymous";
    let everyone = if is_anonymous { "system:unauthenticated" } else { AUTHENTICATED };
    if !user.groups.iter().any(|group| group == everyone) {
        user.groups.push(everyone.to_owned());
    }
    Ok(user.into())
}

fn may(
    api: &Api,
    sender: &User,
    group: &str,
    resource: &str,
    subresource: &str,
    namespace: &str,
    name: &str,
) -> Result<(), Status> {
    let what = What::Resource { group, resource, subresource, namespace, name };
    api.allow(sender, &Ask { verb: "impersonate", what })
}
