//! The kinds that are served at this moment, found by what a request or an object calls them.
//! Replaced as a whole when custom kinds come or go; knows nothing of their objects.

use std::collections::HashMap;
use std::sync::Arc;

pub use kedge_custom::compare_versions;
use kedge_kinds::{GroupVersion, Kind};

/// By group, version and last name; nested, so that looking something up builds no key.
type Names = HashMap<Arc<str>, HashMap<Arc<str>, HashMap<Arc<str>, usize>>>;

#[derive(Debug, Default)]
pub struct Catalog {
    kinds: Vec<Arc<Kind>>,
    by_plural: Names,
    by_kind: Names,
    /// One of each kind that is stored.
    stored: Vec<usize>,
}

impl Catalog {
    pub fn of(kinds: impl IntoIterator<Item = Arc<Kind>>) -> Self {
        let kinds: Vec<Arc<Kind>> = kinds.into_iter().collect();
        let (mut by_plural, mut by_kind) = (Names::new(), Names::new());
        for (at, kind) in kinds.iter().enumerate() {
            for (names, last) in [(&mut by_plural, &kind.plural), (&mut by_kind, &kind.kind)] {
                let versions = names.entry(kind.gv.group.clone()).or_default();
                versions.entry(kind.gv.version.clone()).or_default().insert(last.clone(), at);
            }
        }
        let mut by_place: HashMap<&str, usize> = HashMap::new();
        for (at, kind) in kinds.iter().enumerate().filter(|(_, kind)| is_stored(kind)) {
            // A definition need not serve the version that it stores.
            if kind.gv == kind.stored_as || kind.rules.is_some() && !by_place.contains_key(&*kind.prefix) {
                by_place.insert(&kind.prefix, at);
            }
        }
        let mut stored: Vec<usize> = by_place.into_values().collect();
        stored.sort_unstable();
        Self { kinds, by_plural, by_kind, stored }
    }

    /// By the names in a path: `("apps", "v1", "deployments")`.
    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(*self.by_plural.get(group)?.get(version)?.get(plural)?)
    }

    /// By the names in an object: `("apps", "v1", "Deployment")`.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(*self.by_kind.get(group)?.get(version)?.get(kind)?)
    }

    /// Every served version of every kind, in discovery's order.
    pub fn kinds(&self) -> &[Arc<Kind>] {
        &self.kinds
    }

    /// The served groups and versions, in discovery's order.
    pub fn groups(&self) -> Vec<GroupVersion> {
        let mut groups: Vec<GroupVersion> = Vec::new();
        for kind in &self.kinds {
            if !groups.contains(&kind.gv) {
                groups.push(kind.gv.clone());
            }
        }
        groups
    }

    /// One served version of every stored kind: where to look for all objects there are.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.stored.iter().filter_map(|at| self.kinds.get(*at))
    }

    /// The kind in the version that is stored.
    pub fn stored_kind<'k>(&'k self, kind: &'k Arc<Kind>) -> &'k Arc<Kind> {
        if kind.gv == kind.stored_as {
            return kind;
        }
        self.by_kind(&kind.stored_as.group, &kind.stored_as.version, &kind.kind).unwrap_or(kind)
    }
}

/// Reviews and bindings are answered and never stored.
pub fn is_stored(kind: &Kind) -> bool {
    kind.verbs.iter().any(|verb| &**verb == "get")
}
