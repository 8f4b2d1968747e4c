//! Host names that lead to the gateway. Whoever knows them says which there are; where the gateway is, the index knows.

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::wire::Name;

/// Cheap to clone; clones share their names.
#[derive(Clone, Default)]
pub struct Hosts(Arc<ArcSwap<HashSet<Name>>>);

impl Hosts {
    /// From now on exactly these. What cannot be a name is left out.
    pub fn set<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let names = names.into_iter().filter_map(Name::parse).filter(|name| !name.is_root());
        self.0.store(Arc::new(names.collect()));
    }

    pub(crate) fn has(&self, name: &Name) -> bool {
        self.0.load().contains(name)
    }
}
