//! Tells listeners what is different now: which object, as it was and as it is. They note what to look at again and return
//! at once; whoever is told holds up the watch.

use std::any::Any;
use std::sync::{Arc, Weak};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use parking_lot::Mutex;

use super::{Key, Watched};

/// One object that came, changed or went.
pub struct Seen<'a> {
    /// `Pod`
    pub kind: &'a str,
    pub key: &'a Key,
    before: Option<Side<'a>>,
    now: Option<Side<'a>>,
}

#[derive(Clone, Copy)]
struct Side<'a> {
    object: &'a (dyn Any + Send + Sync),
    meta: &'a ObjectMeta,
}

impl<'a> Seen<'a> {
    pub(super) fn new<K: Watched>(
        kind: &'a str,
        key: &'a Key,
        before: Option<&'a Arc<K>>,
        now: Option<&'a Arc<K>>,
    ) -> Self {
        let side = |object: &'a Arc<K>| Side { object: &**object, meta: object.meta() };
        Self { kind, key, before: before.map(side), now: now.map(side) }
    }

    /// The object as it was, if it was there and is of this kind.
    pub fn before<K: Watched>(&self) -> Option<&'a K> {
        self.before?.object.downcast_ref()
    }

    /// The object as it is, if it is there and of this kind.
    pub fn now<K: Watched>(&self) -> Option<&'a K> {
        self.now?.object.downcast_ref()
    }

    pub fn is<K: Watched>(&self) -> bool {
        self.before.or(self.now).is_some_and(|side| side.object.is::<K>())
    }

    /// Who controls it and who did before: an object that changes hands concerns both.
    pub fn controllers(&self) -> impl Iterator<Item = &'a OwnerReference> {
        let of = |side: Option<Side<'a>>| {
            let owners = side.and_then(|side| side.meta.owner_references.as_ref());
            owners.into_iter().flatten().find(|owner| owner.controller == Some(true))
        };
        let (before, now) = (of(self.before), of(self.now));
        before.into_iter().chain(now.filter(|now| before.is_none_or(|before| before.uid != now.uid)))
    }
}

pub trait Listener: Send + Sync {
    fn saw(&self, seen: &Seen<'_>);
}

impl<F: Fn(&Seen<'_>) + Send + Sync> Listener for F {
    fn saw(&self, seen: &Seen<'_>) {
        self(seen);
    }
}

#[derive(Default)]
pub struct Listeners(Mutex<Vec<Weak<dyn Listener>>>);

impl Listeners {
    pub(super) fn add(&self, listener: Weak<dyn Listener>) {
        self.0.lock().push(listener);
    }

    pub(super) fn tell(&self, seen: &Seen<'_>) {
        // A listener may make others listen, so nobody is told under the lock.
        let listeners: Vec<_> = {
            let mut known = self.0.lock();
            known.retain(|listener| listener.strong_count() > 0);
            known.iter().filter_map(Weak::upgrade).collect()
        };
        for listener in listeners {
            listener.saw(seen);
        }
    }
}
