//! May they: Kubernetes' roles and bindings, compiled into maps that answer one question in about constant time.
//! Decides only; refusing in words is the router's. Never behind the store: it catches up before each decision.

mod index;
mod rule;

use index::Index;
use kedge_registry::User;
use kedge_store::Store;
pub(crate) use rule::{Ask, Rule, What};
use serde_json::Value;

use crate::follower::{Follower, Follows};

const MASTERS: &str = "system:masters";
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// Where the four kinds lie in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Roles,
    Bindings,
    ClusterRoles,
    ClusterBindings,
}

const SOURCES: [Source; 4] = [Source::Roles, Source::Bindings, Source::ClusterRoles, Source::ClusterBindings];

/// Where each of the above lies, in the same order.
const PREFIXES: [&str; 4] = [
    "/registry/roles/",
    "/registry/rolebindings/",
    "/registry/clusterroles/",
    "/registry/clusterrolebindings/",
];

impl Follows for Index {
    fn put(&mut self, source: usize, key: &str, bytes: &[u8]) {
        self.put(SOURCES[source], key, bytes);
    }

    fn remove(&mut self, source: usize, key: &str) {
        self.remove(SOURCES[source], key);
    }

    fn settle(&mut self) {
        self.aggregate();
    }
}

/// Whether the user may do everything, whatever roles there are.
pub(crate) fn is_master(user: &User) -> bool {
    user.groups.iter().any(|group| group == MASTERS)
}

pub(crate) struct Rbac {
    index: Follower<Index>,
}

impl Rbac {
    pub(crate) fn new(store: Store) -> Self {
        let index = Follower::new(store, &PREFIXES);
        // The first request need not wait for it.
        drop(index.read());
        Self { index }
    }

    pub(crate) fn allows(&self, user: &User, ask: &Ask<'_>) -> bool {
        if is_master(user) {
            return true;
        }
        self.index.read().rules_of(user, ask.namespace()).any(|rule| rule.allows(ask))
    }

    /// Why the user may, for people; `None` if they may not.
    pub(crate) fn why(&self, user: &User, ask: &Ask<'_>) -> Option<String> {
        if is_master(user) {
            return Some(String::new());
        }
        self.index.read().why(user, ask)
    }

    /// Everything that the user may do in a namespace (or in the cluster, if it is empty).
    pub(crate) fn rules(&self, user: &User, namespace: &str) -> Vec<Rule> {
        self.index.read().rules_of(user, namespace).cloned().collect()
    }

    /// Whether the user holds every permission in `rules` already, so that granting them raises nobody above them.
    pub(crate) fn covers(&self, user: &User, namespace: &str, rules: &[Rule]) -> bool {
        if is_master(user) {
            return true;
        }
        let held = self.rules(user, namespace);
        rules.iter().flat_map(Rule::atoms).all(|atom| held.iter().any(|rule| rule.covers(&atom)))
    }

    /// The rules of the role that a binding points at; `None` if there is no such role.
    pub(crate) fn role(&self, namespace: &str, binding: &Value) -> Option<Vec<Rule>> {
        self.index.read().referenced(namespace, binding)
    }

    /// The roles that gather others, each with the rules that it gathers.
    pub(crate) fn gathered(&self) -> Vec<(String, Vec<Rule>)> {
        self.index.read().gathered()
    }

    /// Whether one ClusterRole allows it; a role that is not there allows nothing.
    pub(crate) fn cluster_role_allows(&self, name: &str, ask: &Ask<'_>) -> bool {
        self.index.read().cluster_role(name).iter().any(|rule| rule.allows(ask))
    }
}

#[cfg(test)]
mod tests;
