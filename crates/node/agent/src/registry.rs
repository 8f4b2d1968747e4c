//! Which containers belong to which pod, so that whoever hears of a container's end knows whom to wake; what each pod takes
//! from the node, so that the next one knows whether it has room; and who has to go.

use std::collections::HashMap;
use std::sync::Arc;

use kedge_kinds::Quantity;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::admit::{Short, Weight, refuse, short};
use crate::memory::Verdict;
use crate::view::View;

#[derive(Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// By the pod's uid.
    bells: HashMap<String, Arc<Notify>>,
    weights: HashMap<String, Weight>,
    verdicts: HashMap<String, Verdict>,
    /// From a container or a sandbox to its pod.
    owners: HashMap<String, String>,
}

impl Inner {
    fn others(&self, uid: &str) -> Vec<&Weight> {
        self.weights.iter().filter(|(other, _)| *other != uid).map(|(_, weight)| weight).collect()
    }
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

    /// A container that was just made.
    pub(crate) fn own(&self, uid: &str, container: &str) {
        self.inner.lock().owners.insert(container.to_owned(), uid.to_owned());
    }

    pub(crate) fn forget(&self, uid: &str) {
        let mut inner = self.inner.lock();
        inner.bells.remove(uid);
        inner.weights.remove(uid);
        inner.verdicts.remove(uid);
        inner.owners.retain(|_, owner| owner != uid);
    }

    /// Something happened to a container. One that nobody knows yet is being made, and whoever makes it will look.
    pub(crate) fn ring(&self, container: &str) {
        let inner = self.inner.lock();
        if let Some(bell) = inner.owners.get(container).and_then(|uid| inner.bells.get(uid)) {
            bell.notify_one();
        }
    }

    /// Has a pod looked at again.
    pub(crate) fn wake(&self, uid: &str) {
        if let Some(bell) = self.inner.lock().bells.get(uid) {
            bell.notify_one();
        }
    }

    /// Makes room for a pod, or says why there is none.
    pub(crate) fn admit(
        &self,
        uid: &str,
        weight: Weight,
        allocatable: &HashMap<String, Quantity>,
    ) -> Result<(), Verdict> {
        let mut inner = self.inner.lock();
        match refuse(&weight, &inner.others(uid), allocatable) {
            Some(verdict) => Err(verdict),
            None => {
                inner.weights.insert(uid.to_owned(), weight);
                Ok(())
            }
        }
    }

    /// Gives a pod that is here another weight, if there is room for that.
    pub(crate) fn reweigh(
        &self,
        uid: &str,
        weight: Weight,
        allocatable: &HashMap<String, Quantity>,
    ) -> Result<(), Short> {
        let mut inner = self.inner.lock();
        match short(&weight, &inner.others(uid), allocatable) {
            Some(short) => Err(short),
            None => {
                inner.weights.insert(uid.to_owned(), weight);
                Ok(())
            }
        }
    }

    /// A pod that is here already weighs what it does.
    pub(crate) fn weigh(&self, uid: &str, weight: Weight) {
        self.inner.lock().weights.insert(uid.to_owned(), weight);
    }

    /// A pod that has ended takes nothing from the others any more.
    pub(crate) fn release(&self, uid: &str) {
        self.inner.lock().weights.remove(uid);
    }

    /// Tells a pod that it has to go. False if there is no such pod.
    pub(crate) fn condemn(&self, uid: &str, verdict: Verdict) -> bool {
        let mut inner = self.inner.lock();
        let Some(bell) = inner.bells.get(uid).cloned() else { return false };
        inner.verdicts.entry(uid.to_owned()).or_insert(verdict);
        bell.notify_one();
        true
    }

    /// Why a pod has to go, if it has.
    pub(crate) fn verdict(&self, uid: &str) -> Option<Verdict> {
        self.inner.lock().verdicts.get(uid).cloned()
    }
}
