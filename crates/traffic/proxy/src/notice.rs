//! Which Services are to be looked at again. Notes it while the watches go on, and wakes whoever looks.

use std::collections::BTreeSet;

use kedge_client::{Key, Listener, Seen};
use kedge_facts::{Node, Service, Slice};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::proxy::zone;

#[derive(Default)]
pub(crate) struct Notice {
    node: String,
    noted: Mutex<Noted>,
    woken: Notify,
}

/// Some, or everybody.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) keys: BTreeSet<Key>,
    pub(crate) everybody: bool,
}

impl Notice {
    pub(crate) fn new(node: &str) -> Self {
        Self { node: node.to_owned(), ..Self::default() }
    }

    /// Waits until there is something; all that came until then is one.
    pub(crate) async fn next(&self) -> Noted {
        loop {
            let noted = std::mem::take(&mut *self.noted.lock());
            if noted != Noted::default() {
                return noted;
            }
            self.woken.notified().await;
        }
    }

    fn note(&self, keys: impl IntoIterator<Item = Key>) {
        self.noted.lock().keys.extend(keys);
        self.woken.notify_one();
    }
}

impl Listener for Notice {
    fn saw(&self, seen: &Seen<'_>) {
        if seen.is::<Service>() {
            self.note([seen.key.clone()]);
        } else if seen.is::<Slice>() {
            let sides = [seen.before::<Slice>(), seen.now::<Slice>()];
            let names = sides.into_iter().flatten().filter_map(|slice| slice.service());
            self.note(names.map(|name| Key::new(seen.key.namespace.clone(), name)));
        } else if seen.is::<Node>() && seen.key.name == self.node {
            // Which endpoints are near depends on where we are.
            if seen.before::<Node>().and_then(zone) != seen.now::<Node>().and_then(zone) {
                self.noted.lock().everybody = true;
                self.woken.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kedge_client::World;
    use serde_json::{Value, json};

    use super::*;

    fn slice(service: &str) -> Slice {
        let metadata =
            json!({"name": "x", "namespace": "n", "labels": {"kubernetes.io/service-name": service}});
        serde_json::from_value(json!({"metadata": metadata, "addressType": "IPv4"})).unwrap()
    }

    fn node(name: &str, labels: Value) -> Node {
        serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap()
    }

    #[test]
    fn what_is_looked_at_again() {
        let world = World::by_hand();
        let (services, slices, nodes) =
            (world.feed::<Service>(), world.feed::<Slice>(), world.feed::<Node>());
        let notice = Arc::new(Notice::new("here"));
        world.listen(&notice);
        let noted = || std::mem::take(&mut *notice.noted.lock());
        let names = || noted().keys.into_iter().map(|key| key.to_string()).collect::<Vec<_>>();

        let service = json!({"metadata": {"name": "web", "namespace": "n"}, "spec": {}});
        services.put(serde_json::from_value(service.clone()).unwrap());
        assert_eq!(names(), ["n/web"]);
        slices.put(slice("web"));
        assert_eq!(names(), ["n/web"]);
        slices.put(slice("shop"));
        assert_eq!(names(), ["n/shop", "n/web"], "a slice that changes hands concerns both");
        slices.remove(slice("shop"));
        services.remove(serde_json::from_value(service).unwrap());
        assert_eq!(names(), ["n/shop", "n/web"]);

        let zone = json!({"topology.kubernetes.io/zone": "z"});
        for (case, seen, expected) in [
            ("another node", node("there", zone.clone()), false),
            ("our node without a zone", node("here", json!({})), false),
            ("our node is somewhere now", node("here", zone.clone()), true),
            ("and still is", node("here", zone), false),
        ] {
            nodes.put(seen);
            assert_eq!(noted().everybody, expected, "{case}");
        }
    }
}
