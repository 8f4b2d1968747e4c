//! Host names that lead to the gateway. Whoever knows them says which there are; where the gateway is, the index knows.

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

use crate::wire::Name;

/// Cheap to clone; clones share their names.
#[derive(Clone, Default)]
pub struct Hosts(Arc<Shared>);

#[derive(Default)]
struct Shared {
    names: ArcSwap<HashSet<Name>>,
    changed: Notify,
}

impl Hosts {
    /// From now on exactly these. What cannot be a name is left out.
    pub fn set<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let names = names.into_iter().filter_map(Name::parse).filter(|name| !name.is_root());
        self.0.names.store(Arc::new(names.collect()));
        self.0.changed.notify_one();
    }

    pub(crate) fn has(&self, name: &Name) -> bool {
        self.0.names.load().contains(name)
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.names.load().iter().map(Name::to_string).collect()
    }

    /// Waits until they are others than when this was last waited for.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}
