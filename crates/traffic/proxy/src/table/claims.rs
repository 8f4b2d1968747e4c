//! Who has which door. Of several that want one, a Service's own address in the cluster goes before what others say of it, and then the
//! older one before the younger.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kedge_client::Key;

use crate::wanted::{Door, Way};

/// The least one wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Claim {
    is_foreign: bool,
    since: i64,
    key: Arc<Key>,
}

#[derive(Default)]
pub(super) struct Claims {
    owners: HashMap<Door, Claim>,
    /// Who would have it if nobody before him did.
    waiting: BTreeSet<(Door, Claim)>,
    /// Doors of each, those that he has and those that he waits for.
    doors: HashMap<Arc<Key>, Vec<Door>>,
}

impl Claims {
    /// All doors that somebody wants from now on. Says who else has more or fewer by it.
    pub(super) fn claim(
        &mut self,
        key: &Key,
        since: i64,
        wanted: impl Iterator<Item = (Door, Way)>,
    ) -> Vec<Key> {
        let key = Arc::new(key.clone());
        let wanted: HashMap<Door, Claim> = wanted
            .map(|(door, way)| {
                let is_foreign = !matches!(way, Way::Inside(_));
                (door, Claim { is_foreign, since, key: key.clone() })
            })
            .collect();
        let mut others = Vec::new();
        for door in self.doors.remove(&*key).unwrap_or_default() {
            self.waiting.retain(|(waited, claim)| *waited != door || claim.key != key);
            if self.owners.get(&door).is_some_and(|owner| owner.key == key) && !wanted.contains_key(&door) {
                self.owners.remove(&door);
                let next = self.waiting.iter().find(|(waited, _)| *waited == door);
                others.extend(next.map(|(_, claim)| (*claim.key).clone()));
            }
        }
        let doors: Vec<Door> = wanted.keys().copied().collect();
        for (door, claim) in wanted {
            match self.owners.get(&door) {
                Some(owner) if owner.key == key || claim < *owner => {
                    if owner.key != key {
                        others.push((*owner.key).clone());
                        self.waiting.insert((door, owner.clone()));
                    }
                    self.owners.insert(door, claim);
                }
                Some(_) => {
                    self.waiting.insert((door, claim));
                }
                None => {
                    self.owners.insert(door, claim);
                }
            }
        }
        if !doors.is_empty() {
            self.doors.insert(key, doors);
        }
        others
    }

    pub(super) fn has(&self, key: &Key, door: &Door) -> bool {
        self.owners.get(door).is_some_and(|owner| *owner.key == *key)
    }
}
