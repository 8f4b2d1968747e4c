//! One request for a resource, understood: what, where, by whom, in which form. Nothing has happened yet.

use std::borrow::Cow;
use std::sync::Arc;

use http::{HeaderMap, Method};
use kedge_kinds::{Kind, Status};
use kedge_registry::gate::Remarks;
use kedge_registry::{At, User, WriteOptions};

use crate::media::{self, Offer, Output};
use crate::path::Place;
use crate::query::Query;
use crate::{connect, router, verbs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// What can be asked of whoever is behind a proxy.
    Options,
}

impl Verb {
    pub(crate) fn of(method: &Method, place: &Place<'_>, query: &Query) -> Option<Self> {
        let named = place.name.is_some();
        match *method {
            // Whoever is behind a proxy may be asked for the head of an answer alone.
            Method::HEAD if place.subresource.as_deref() == Some("proxy") => Some(Verb::Get),
            Method::OPTIONS if place.subresource.as_deref() == Some("proxy") => Some(Verb::Options),
            Method::GET if place.watch => Some(Verb::Watch),
            Method::GET if named => Some(Verb::Get),
            Method::GET if query.flag("watch") => Some(Verb::Watch),
            Method::GET => Some(Verb::List),
            _ if place.watch => None,
            Method::POST => Some(Verb::Create),
            Method::PUT => Some(Verb::Update),
            Method::PATCH => Some(Verb::Patch),
            Method::DELETE if named => Some(Verb::Delete),
            Method::DELETE => Some(Verb::DeleteCollection),
            _ => None,
        }
    }

    /// As roles name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
            // Roles have no word for it; only one for everything allows it.
            Verb::Options => "",
        }
    }

    /// As counters name it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::List => "LIST",
            Verb::Watch => "WATCH",
            Verb::Create => "POST",
            Verb::Update => "PUT",
            Verb::Patch => "PATCH",
            Verb::Delete => "DELETE",
            Verb::DeleteCollection => "DELETECOLLECTION",
            Verb::Options => "OPTIONS",
        }
    }

    pub(crate) fn writes(self) -> bool {
        !matches!(self, Verb::Get | Verb::List | Verb::Watch | Verb::Options)
    }
}

pub(crate) struct Call {
    pub(crate) at: At,
    pub(crate) verb: Verb,
    pub(crate) user: Arc<User>,
    pub(crate) query: Query,
    pub(crate) output: Output,
    pub(crate) pretty: bool,
    /// The body's media type, without parameters.
    pub(crate) content_type: String,
    /// Empty for what writes nothing.
    agent: String,
    /// What comes up on the way besides the answer.
    pub(crate) remarks: Remarks,
}

/// Custom kinds have no protobuf.
fn offer(kind: &Kind, verb: Verb) -> Offer {
    let stream = verb == Verb::Watch;
    let renderings = kedge_registry::catalog::is_stored(kind);
    Offer { protobuf: kind.rules.is_none(), renderings, stream, watched: stream || verb == Verb::List }
}

impl Call {
    /// Refuses a place that the kind doesn't have and a verb that the place doesn't.
    pub(crate) fn new(
        kind: Arc<Kind>,
        place: Place<'_>,
        verb: Verb,
        user: Arc<User>,
        query: Query,
        headers: &HeaderMap,
    ) -> Result<Self, Status> {
        let Place { namespace, name, subresource, rest, .. } = place;
        let own = |text: Cow<'_, str>| Arc::<str>::from(text);
        // A namespace names itself twice in its path; as an object it lies in none.
        let namespace = namespace.filter(|_| kind.namespaced || &*kind.plural != "namespaces");
        if namespace.is_some() != kind.namespaced {
            let everywhere = kind.namespaced && name.is_none() && matches!(verb, Verb::List | Verb::Watch);
            let review = kind.namespaced && name.is_none() && verb != Verb::Create;
            if !everywhere {
                return Err(if review || (kind.namespaced && name.is_none()) {
                    verbs::method_not_allowed()
                } else {
                    verbs::not_found()
                });
            }
        }
        let allowed = match &subresource {
            None => &kind.verbs,
            Some(sub) => match kind.subresource(sub) {
                Some(found) if rest.is_none() || &**sub == "proxy" => &found.verbs,
                _ => return Err(verbs::not_found()),
            },
        };
        let connects = subresource.as_deref().is_some_and(connect::is_connection);
        if !connects && !allowed.iter().any(|one| &**one == verb.name()) {
            return Err(verbs::method_not_allowed());
        }
        if verb == Verb::Create && subresource.is_none() && name.is_some() {
            return Err(verbs::method_not_allowed());
        }
        if matches!(verb, Verb::Update | Verb::Patch) && name.is_none() {
            return Err(verbs::method_not_allowed());
        }
        let output = match media::negotiate(headers, offer(&kind, verb)) {
            // In which form whoever is connected to answers is between the client and them.
            Err(_) if connects => Output::default(),
            negotiated => negotiated?,
        };
        Ok(Self {
            at: At {
                kind,
                namespace: namespace.map(own),
                name: name.map(own),
                subresource: subresource.map(own),
            },
            verb,
            user,
            pretty: query.flag("pretty"),
            query,
            output,
            content_type: media::content_type(headers),
            agent: if verb.writes() { router::agent(headers).to_owned() } else { String::new() },
            remarks: Remarks::default(),
        })
    }

    /// What goes with the write; `options` is Kubernetes' name for it.
    pub(crate) fn write_options(&self, options: &str) -> Result<WriteOptions, Status> {
        let options = self.query.write(options, &self.user, &self.agent)?;
        Ok(WriteOptions { remarks: self.remarks.clone(), ..options })
    }
}
