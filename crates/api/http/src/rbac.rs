//! May they: Kubernetes' roles and bindings, compiled into maps that answer one question in about constant time.
//! Decides only; refusing in words is the router's. Never behind the store: it catches up before each decision.

mod index;
mod rule;

use std::sync::atomic::{AtomicU64, Ordering};

use index::Index;
use kedge_registry::{Attributes, Authorizer, Decision, User};
use kedge_store::{Change, Store, Watch, WatchEnd};
use parking_lot::{Mutex, RwLock};
pub(crate) use rule::{Ask, Rule, What};
use serde_json::Value;

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

const SOURCES: [(Source, &str); 4] = [
    (Source::Roles, "/registry/roles/"),
    (Source::Bindings, "/registry/rolebindings/"),
    (Source::ClusterRoles, "/registry/clusterroles/"),
    (Source::ClusterBindings, "/registry/clusterrolebindings/"),
];

/// Whether the user may do everything, whatever roles there are.
pub(crate) fn is_master(user: &User) -> bool {
    user.groups.iter().any(|group| group == MASTERS)
}

pub(crate) struct Rbac {
    store: Store,
    index: RwLock<Index>,
    feed: Mutex<Vec<(Source, &'static str, Watch)>>,
    /// The store's revision up to which the index is known to be current.
    current: AtomicU64,
}

impl Rbac {
    pub(crate) fn new(store: Store) -> Self {
        let rbac = Self {
            store,
            index: RwLock::default(),
            feed: Mutex::new(Vec::new()),
            current: AtomicU64::new(u64::MAX),
        };
        rbac.catch_up();
        rbac
    }

    pub(crate) fn allows(&self, user: &User, ask: &Ask<'_>) -> bool {
        if is_master(user) {
            return true;
        }
        self.catch_up();
        self.index.read().rules_of(user, ask.namespace()).any(|rule| rule.allows(ask))
    }

    /// Why the user may, for people; `None` if they may not.
    pub(crate) fn why(&self, user: &User, ask: &Ask<'_>) -> Option<String> {
        if is_master(user) {
            return Some(String::new());
        }
        self.catch_up();
        self.index.read().why(user, ask)
    }

    /// Everything that the user may do in a namespace (or in the cluster, if it is empty).
    pub(crate) fn rules(&self, user: &User, namespace: &str) -> Vec<Rule> {
        self.catch_up();
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
        self.catch_up();
        self.index.read().referenced(namespace, binding)
    }

    /// The roles that gather others, each with the rules that it gathers.
    pub(crate) fn gathered(&self) -> Vec<(String, Vec<Rule>)> {
        self.catch_up();
        self.index.read().gathered()
    }

    fn catch_up(&self) {
        let newest = self.store.revision().get();
        if self.current.load(Ordering::Acquire) == newest {
            return;
        }
        let mut feed = self.feed.lock();
        if feed.is_empty() || self.drain(&mut feed).is_err() {
            self.rebuild(&mut feed);
        }
        // Not the store's number: a state can be read a moment before its events reach the watches.
        let drained = feed.iter().map(|(_, _, watch)| watch.seen().get()).min().unwrap_or(newest);
        self.current.store(drained, Ordering::Release);
    }

    fn drain(&self, feed: &mut [(Source, &'static str, Watch)]) -> Result<(), WatchEnd> {
        let mut changed = false;
        for (source, prefix, watch) in feed.iter_mut() {
            while let Some(event) = watch.try_next() {
                let event = event?;
                let key = event.key.as_str().strip_prefix(*prefix).unwrap_or_default();
                let mut index = self.index.write();
                match &event.change {
                    Change::Put { now, .. } => index.put(*source, key, now.bytes()),
                    Change::Delete { .. } => index.remove(*source, key),
                }
                changed |= *source == Source::ClusterRoles;
            }
        }
        if changed {
            self.index.write().aggregate();
        }
        Ok(())
    }

    fn rebuild(&self, feed: &mut Vec<(Source, &'static str, Watch)>) {
        let snapshot = self.store.snapshot();
        let mut index = Index::default();
        feed.clear();
        for (source, prefix) in SOURCES {
            for (key, entry) in snapshot.range(prefix, None) {
                index.put(source, key.as_str().strip_prefix(prefix).unwrap_or_default(), entry.bytes());
            }
            // A closed store refuses watches; then nothing changes any more and what we have stays true.
            if let Ok(watch) = self.store.watch(prefix, snapshot.revision()) {
                feed.push((source, prefix, watch));
            }
        }
        index.aggregate();
        *self.index.write() = index;
    }
}

impl Authorizer for Rbac {
    fn decide(&self, user: &User, attributes: &Attributes<'_>) -> Decision {
        let Attributes { verb, path, group, resource, subresource, namespace, name } = *attributes;
        let what = match path {
            "" => What::Resource { group, resource, subresource, namespace, name },
            path => What::Path(path),
        };
        let why = self.why(user, &Ask { verb, what });
        Decision { allowed: why.is_some(), reason: why.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests;
