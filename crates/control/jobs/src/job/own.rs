//! Which pods are a job's: those that name it as their controller and have its labels, and those with its labels that name
//! nobody. Whoever is taken in is counted, whoever is let go is not.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kedge_children::claim;
use kedge_client::Cache;
use kedge_engine::Action;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use super::tracked::{FINALIZER, Tracked};

/// What a job selects; nothing if that can't be said.
pub(super) fn selector(job: &Job) -> Option<Selector> {
    let selector = job.spec.as_ref()?.selector.clone()?;
    let selector = Selector::try_from(selector).ok()?;
    (!selector.selects_all()).then_some(selector)
}

pub(super) struct Own {
    pub(super) pods: Vec<Arc<Pod>>,
    /// Taking in and letting go; what follows from it is the next plan's.
    pub(super) actions: Vec<Action>,
}

pub(super) fn pods(job: &Job, cache: &Cache<Pod>) -> Own {
    let leaving = job.metadata.deletion_timestamp.is_some();
    let selector = selector(job);
    let matches = |pod: &Pod| selector.as_ref().is_some_and(|selector| selector.matches(pod.labels()));
    let uid = job.metadata.uid.as_deref().unwrap_or_default();
    let owned = cache.owned_by(uid).into_iter();
    let owned = owned.filter(|pod| claim::controller(&**pod).is_some_and(|owner| owner.uid == uid));
    let (pods, strangers): (Vec<_>, Vec<_>) = owned.partition(|pod| leaving || matches(pod));
    let mut actions: Vec<Action> = strangers.iter().filter_map(|pod| let_go(job, pod)).collect();
    if !leaving && selector.is_some() {
        let equal = job.spec.as_ref().and_then(|spec| spec.selector.as_ref()?.match_labels.clone());
        let alike = cache.labelled(&job.namespace().unwrap_or_default(), &equal.unwrap_or_default());
        let free = alike.iter().filter(|pod| {
            let nobodys = claim::controller(&***pod).is_none() && pod.metadata.deletion_timestamp.is_none();
            nobodys && matches(pod)
        });
        actions.extend(free.filter_map(|pod| take_in(job, pod)));
    }
    Own { pods, actions }
}

fn take_in(job: &Job, pod: &Pod) -> Option<Action> {
    let mut taken = pod.clone();
    taken.metadata.owner_references.get_or_insert_default().push(claim::reference(job));
    if !pod.is_tracked() {
        taken.metadata.finalizers.get_or_insert_default().push(FINALIZER.to_owned());
    }
    Action::change(pod, &taken)
}

fn let_go(job: &Job, pod: &Pod) -> Option<Action> {
    let mut free = pod.clone();
    let owners = free.metadata.owner_references.get_or_insert_default();
    owners.retain(|owner| Some(&owner.uid) != job.metadata.uid.as_ref());
    free.metadata.finalizers.get_or_insert_default().retain(|finalizer| finalizer != FINALIZER);
    Action::change(pod, &free)
}
