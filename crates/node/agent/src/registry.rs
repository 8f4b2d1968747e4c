//! Which containers belong to which pod, so that whoever hears of a container's end knows whom to wake.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::view::View;

#[derive(Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By the pod's uid.
    bells: HashMap<String, Arc<Notify>>,
    /// From a container or a sandbox to its pod.
    owners: HashMap<String, String>,
}

impl Registry {
    /// The bell of a pod.
    pub(crate) fn bell(&self, uid: &str) -> Arc<Notify> {
        self.inner.lock().bells.entry(uid.to_owned()).or_default().clone()
    }

    pub(crate) fn note(&self, uid: &str, view: &View) {
        let mut inner = self.inner.lock();
        let ids = view.sandboxes.iter().map(|sandbox| &sandbox.id);
        for id in ids.chain(view.containers.iter().map(|made| &made.id)) {
            if !inner.owners.contains_key(id) {
                inner.owners.insert(id.clone(), uid.to_owned());
            }
        }
    }

    pub(crate) fn forget(&self, uid: &str) {
        let mut inner = self.inner.lock();
        inner.bells.remove(uid);
        inner.owners.retain(|_, owner| owner != uid);
    }

    /// Something happened to a container. Nobody knows a new one yet, so then everybody looks.
    pub(crate) fn ring(&self, container: &str) {
        let inner = self.inner.lock();
        match inner.owners.get(container).and_then(|uid| inner.bells.get(uid)) {
            Some(bell) => bell.notify_one(),
            None => inner.bells.values().for_each(|bell| bell.notify_one()),
        }
    }
}
