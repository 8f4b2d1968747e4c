//! What nodes may: their own objects, and of everybody's objects those that the pods on them need. Decides only; asked
//! before the roles, and says nothing about anybody else.

mod graph;

use graph::{Graph, PREFIXES, Thing};
use kedge_registry::User;
use kedge_store::Store;

use crate::follower::Follower;
use crate::rbac::{Ask, Rbac, What};

const LEASES: &str = "kube-node-lease";
/// What every node may, beyond what is decided here.
const ROLE: &str = "system:node";

pub(crate) struct Nodes {
    graph: Follower<Graph>,
}

/// The name of the node that this user is; `None` for everybody else.
pub(crate) fn identity(user: &User) -> Option<&str> {
    let name = user.name.strip_prefix("system:node:")?;
    user.groups.iter().any(|group| group == "system:nodes").then_some(name)
}

/// The error is the reason; empty where there is nothing to say.
type Verdict = Result<(), String>;

fn no(reason: impl Into<String>) -> Verdict {
    Err(reason.into())
}

impl Nodes {
    pub(crate) fn new(store: Store) -> Self {
        Self { graph: Follower::new(store, &PREFIXES) }
    }

    /// `fields` is the request's field selector. `None` if the user is no node.
    pub(crate) fn decide(&self, rbac: &Rbac, user: &User, ask: &Ask<'_>, fields: &str) -> Option<Verdict> {
        let node = identity(user)?;
        if node.is_empty() {
            return Some(no(format!("unknown node for user {:?}", user.name)));
        }
        let special = match ask.what {
            What::Resource { group, resource, subresource, namespace, name } => {
                let place = Place { verb: ask.verb, subresource, namespace, name, fields, node };
                self.resource(group, resource, &place)
            }
            What::Path(_) => None,
        };
        Some(special.unwrap_or_else(|| match rbac.cluster_role_allows(ROLE, ask) {
            true => Ok(()),
            false => no(""),
        }))
    }

    /// `None` for what the role decides.
    fn resource(&self, group: &str, resource: &str, place: &Place<'_>) -> Option<Verdict> {
        Some(match (group, resource) {
            ("", "secrets") => self.read(Thing::Secret, place),
            ("", "configmaps") => self.read(Thing::ConfigMap, place),
            ("", "persistentvolumeclaims") if place.subresource == "status" => match place.verb {
                "update" | "patch" => self.used(Thing::Claim, place),
                _ => no("can only get/update/patch this type"),
            },
            ("", "persistentvolumeclaims") => self.get(place, || self.used(Thing::Claim, place)),
            ("", "persistentvolumes") => self.volume(place),
            ("resource.k8s.io", "resourceclaims") => {
                self.get(place, || self.used(Thing::ResourceClaim, place))
            }
            ("storage.k8s.io", "volumeattachments") => {
                self.get(place, || place.related(self.graph.read().attachment_is_of(place.name, place.node)))
            }
            ("", "serviceaccounts") => self.account(place),
            ("coordination.k8s.io", "leases") => lease(place),
            ("storage.k8s.io", "csinodes") => own(place, "CSINode"),
            ("resource.k8s.io", "resourceslices") => self.slice(place),
            ("", "nodes") => node(place),
            ("", "pods") => self.pod(place),
            _ => return None,
        })
    }

    fn used(&self, thing: Thing, place: &Place<'_>) -> Verdict {
        if place.name.is_empty() {
            return no("No Object name found");
        }
        let key = format!("{}/{}", place.namespace, place.name);
        place.related(self.graph.read().is_used(thing, &key, place.node))
    }

    fn get(&self, place: &Place<'_>, then: impl FnOnce() -> Verdict) -> Verdict {
        match (place.verb, place.subresource) {
            ("get", "") if place.name.is_empty() => no("No Object name found"),
            ("get", "") => then(),
            ("get", _) => no("cannot get subresource"),
            _ => no("can only get individual resources of this type"),
        }
    }

    fn read(&self, thing: Thing, place: &Place<'_>) -> Verdict {
        match place.verb {
            "get" | "list" | "watch" if !place.subresource.is_empty() => no("cannot read subresource"),
            "get" | "list" | "watch" if place.namespace.is_empty() => {
                no("can only read namespaced object of this type")
            }
            "get" | "list" | "watch" => self.used(thing, place),
            _ => no("can only read resources of this type"),
        }
    }

    /// Those that its pods use; and those on its own disk it removes itself, so it has to notice them
    /// (`docs/decisions/0006-local-path.md`).
    fn volume(&self, place: &Place<'_>) -> Verdict {
        match (place.verb, place.subresource) {
            ("list" | "watch", "") => Ok(()),
            ("patch", "") => place.related(self.graph.read().volume_lies_on(place.name, place.node)),
            _ => self.get(place, || place.related(self.graph.read().volume_is_used(place.name, place.node))),
        }
    }

    fn account(&self, place: &Place<'_>) -> Verdict {
        match (place.verb, place.subresource) {
            ("get", "") => self.read(Thing::Account, place),
            ("create", "token") if !place.name.is_empty() => self.used(Thing::Account, place),
            ("create", _) if !place.name.is_empty() => {
                no("can only create token subresource of serviceaccount")
            }
            _ => no("can only create tokens for individual service accounts"),
        }
    }

    fn slice(&self, place: &Place<'_>) -> Verdict {
        if !place.subresource.is_empty() {
            return no("cannot authorize ResourceSlice subresources");
        }
        match place.verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => {
                place.related(self.graph.read().slice_is_of(place.name, place.node))
            }
            "list" | "watch" | "deletecollection" if place.selects("spec.nodeName") => Ok(()),
            "list" | "watch" | "deletecollection" => {
                no("can only list/watch/deletecollection resourceslices with nodeName field selector")
            }
            _ => no(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
            ),
        }
    }

    fn pod(&self, place: &Place<'_>) -> Verdict {
        let here = || {
            let key = format!("{}/{}", place.namespace, place.name);
            place.related(self.graph.read().pod_is_on(&key, place.node))
        };
        match (place.subresource, place.verb) {
            ("", "get") => self.get(place, here),
            ("", "list" | "watch") if place.selects("spec.nodeName") => Ok(()),
            ("", "list" | "watch") if !place.name.is_empty() => here(),
            ("", "list" | "watch") => no("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Ok(()),
            _ => no(""),
        }
    }
}

/// One node's request for a resource; absent parts are empty.
struct Place<'a> {
    verb: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
    fields: &'a str,
    node: &'a str,
}

impl Place<'_> {
    fn related(&self, is: bool) -> Verdict {
        let node = self.node;
        if is { Ok(()) } else { no(format!("no relationship found between node '{node}' and this object")) }
    }

    /// Whether the field selector reaches objects of this node only.
    fn selects(&self, field: &str) -> bool {
        self.fields.split(',').any(|one| {
            let wanted = one.split_once("==").or_else(|| one.split_once('='));
            wanted.is_some_and(|(left, right)| left == field && right == self.node)
        })
    }
}

fn node(place: &Place<'_>) -> Verdict {
    let own = place.node;
    match (place.subresource, place.verb) {
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Ok(()),
        ("", "get" | "list" | "watch") => match place.name {
            name if name == own => Ok(()),
            "" => no(format!("node '{own}' cannot read all nodes, only its own Node object")),
            name => no(format!("node '{own}' cannot read '{name}', only its own Node object")),
        },
        _ => no(""),
    }
}

fn lease(place: &Place<'_>) -> Verdict {
    match place.verb {
        "get" | "create" | "update" | "patch" | "delete" if place.namespace != LEASES => {
            no(format!("can only access leases in the {LEASES:?} system namespace"))
        }
        "create" => Ok(()),
        "get" | "update" | "patch" | "delete" if place.name == place.node => Ok(()),
        "get" | "update" | "patch" | "delete" => {
            no("can only access node lease with the same name as the requesting node")
        }
        _ => no("can only get, create, update, patch, or delete a node lease"),
    }
}

fn own(place: &Place<'_>, kind: &str) -> Verdict {
    match place.verb {
        "get" | "create" | "update" | "patch" | "delete" if !place.subresource.is_empty() => {
            no(format!("cannot authorize {kind} subresources"))
        }
        "create" => Ok(()),
        "get" | "update" | "patch" | "delete" if place.name == place.node => Ok(()),
        "get" | "update" | "patch" | "delete" => {
            no(format!("can only access {kind} with the same name as the requesting node"))
        }
        _ => no(format!("can only get, create, update, patch, or delete a {kind}")),
    }
}

#[cfg(test)]
mod tests;
