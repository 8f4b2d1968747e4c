//! On whose behalf: the user that a request names in `Impersonate-*`, if its sender may act as them. There are two ways
//! to be allowed: by the verb `impersonate`, for whatever they do; or constrained, by `impersonate:<mode>` for whom and
//! `impersonate-on:<mode>:<verb>` for what.

use std::sync::Arc;

use http::HeaderMap;
use http::header::HeaderValue;
use http::request::Parts;
use kedge_kinds::{Reason, Status};
use kedge_registry::User;
use percent_encoding::percent_decode_str;

use crate::api::Api;
use crate::call::Verb;
use crate::path;
use crate::query::Query;
use crate::rbac::{Ask, What};
use crate::who::AUTHENTICATED;

const EXTRA: &str = "impersonate-extra-";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

/// The user that the request is to be carried out as: the one who sent it, or the one whom it names.
pub(crate) fn acting(
    api: &Api,
    sender: Arc<User>,
    parts: &Parts,
    query: &Query,
) -> Result<Arc<User>, Status> {
    if !parts.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(sender);
    }
    let Some(wanted) = wanted(&parts.headers)? else { return Ok(sender) };
    let mut first = None;
    for mode in MODES.into_iter().filter(|mode| mode.fits(&wanted, &sender)) {
        match mode.check(api, &sender, &wanted, parts, query) {
            Ok(user) => return Ok(user.into()),
            Err(status) => first = first.or(Some(status)),
        }
    }
    // The last mode fits everyone, so there was at least one refusal.
    Err(first.unwrap_or_else(|| Status::new(403, Reason::Forbidden, "all impersonation modes failed")))
}

/// A header that cannot be read is refused, never taken for one that is not there.
fn text(value: &HeaderValue) -> Result<&str, Status> {
    std::str::from_utf8(value.as_bytes())
        .map_err(|_| Status::bad_request("an Impersonate header is not UTF-8"))
}

fn wanted(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let name = headers.get("impersonate-user").map(text).transpose()?;
    let uid = headers.get("impersonate-uid").map(text).transpose()?;
    let groups = headers.get_all("impersonate-group").iter();
    let groups: Vec<String> = groups.map(|value| text(value).map(str::to_owned)).collect::<Result<_, _>>()?;
    let mut user = User { uid: uid.unwrap_or("").to_owned(), groups, ..User::default() };
    for (key, value) in headers {
        let Some(key) = key.as_str().strip_prefix(EXTRA) else { continue };
        let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
        user.extra.entry(key).or_default().push(text(value)?.to_owned());
    }
    match name.filter(|name| !name.is_empty()) {
        Some(name) => Ok(Some(User { name: name.to_owned(), ..user })),
        None if name.is_none() && uid.is_none() && user.groups.is_empty() && user.extra.is_empty() => {
            Ok(None)
        }
        None => {
            let asked = "impersonating groups, a UID or extra fields needs a user to impersonate as well";
            Err(Status::bad_request(asked))
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A node that the sender, a pod's account, runs on.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    /// Anybody who is neither a node nor an account.
    UserInfo,
    /// The verb `impersonate`, which is good for everyone and everything.
    Unconstrained,
}

/// In the order in which they are tried.
const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Unconstrained];

fn node(name: &str) -> Option<&str> {
    name.strip_prefix("system:node:").filter(|node| !node.is_empty())
}

fn account(name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

impl Mode {
    fn fits(self, wanted: &User, sender: &User) -> bool {
        let only_named = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let runs_on = |node: &str| {
            account(&sender.name).is_some()
                && sender.extra.get(NODE_NAME).is_some_and(|names| *names == [node])
        };
        match self {
            Mode::AssociatedNode => only_named && node(&wanted.name).is_some_and(runs_on),
            Mode::ArbitraryNode => only_named && node(&wanted.name).is_some(),
            Mode::ServiceAccount => only_named && account(&wanted.name).is_some(),
            Mode::UserInfo => node(&wanted.name).is_none() && account(&wanted.name).is_none(),
            Mode::Unconstrained => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "associated-node",
            Mode::ArbitraryNode => "arbitrary-node",
            Mode::ServiceAccount => "serviceaccount",
            Mode::UserInfo => "user-info",
            Mode::Unconstrained => "",
        }
    }

    fn check(
        self,
        api: &Api,
        sender: &User,
        wanted: &User,
        parts: &Parts,
        query: &Query,
    ) -> Result<User, Status> {
        let constrained = self != Mode::Unconstrained;
        if constrained {
            self.may_do(api, sender, parts, query)?;
        }
        let mut user = wanted.clone();
        let verb =
            if constrained { format!("impersonate:{}", self.name()) } else { "impersonate".to_owned() };
        let group = if constrained { AUTHENTICATION } else { "" };
        let may = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
            let what = What::Resource { group, resource, subresource, namespace, name };
            api.allow(sender, &Ask { verb: &verb, what })
        };
        match (node(&wanted.name).filter(|_| constrained), account(&wanted.name)) {
            (Some(node), _) => {
                // Which of its nodes it is was asked already; the grant is for all of them.
                let node = if self == Mode::AssociatedNode { "*" } else { node };
                may(group, "nodes", "", "", node)?;
                user.groups = vec!["system:nodes".to_owned()];
            }
            (None, Some((namespace, name))) => {
                may(group, "serviceaccounts", "", namespace, name)?;
                if user.groups.is_empty() {
                    let own = format!("system:serviceaccounts:{namespace}");
                    user.groups = vec!["system:serviceaccounts".to_owned(), own];
                }
            }
            (None, None) => may(group, "users", "", "", &wanted.name)?,
        }
        if !wanted.uid.is_empty() {
            may(AUTHENTICATION, "uids", "", "", &wanted.uid)?;
        }
        for name in &wanted.groups {
            if constrained && matches!(name.as_str(), "" | "system:masters") {
                let message = format!("impersonating the group {name:?} is not allowed");
                return Err(Status::new(403, Reason::Forbidden, message));
            }
            may(group, "groups", "", "", name)?;
        }
        for (key, values) in &wanted.extra {
            for value in values {
                if constrained && (key.is_empty() || value.is_empty()) {
                    let message = "impersonating an empty key or value in extra is not allowed";
                    return Err(Status::new(403, Reason::Forbidden, message));
                }
                may(AUTHENTICATION, "userextras", key, "", value)?;
            }
        }
        complete(&mut user);
        Ok(user)
    }

    /// Whether the sender may do in this mode what the request does.
    fn may_do(self, api: &Api, sender: &User, parts: &Parts, query: &Query) -> Result<(), Status> {
        let named = |verb: &str| format!("impersonate-on:{}:{verb}", self.name());
        let path = parts.uri.path();
        let Some(place) = path::parse(path) else {
            let verb = named(&parts.method.as_str().to_ascii_lowercase());
            return api.allow(sender, &Ask { verb: &verb, what: What::Path(path) });
        };
        let verb = Verb::of(&parts.method, &place, query).ok_or_else(crate::verbs::method_not_allowed)?;
        let what = What::Resource {
            group: &place.group,
            resource: &place.resource,
            subresource: place.subresource.as_deref().unwrap_or(""),
            namespace: place.namespace.as_deref().unwrap_or(""),
            name: place.name.as_deref().unwrap_or(""),
        };
        api.allow(sender, &Ask { verb: &named(verb.name()), what })
    }
}

/// Everyone is either authenticated or not, whatever was asked for.
fn complete(user: &mut User) {
    let has = |group: &str| user.groups.iter().any(|one| one == group);
    let everyone = match user.name.as_str() {
        "system:anonymous" => UNAUTHENTICATED,
        _ if has(UNAUTHENTICATED) => return,
        _ => AUTHENTICATED,
    };
    if !has(everyone) {
        user.groups.push(everyone.to_owned());
    }
}
