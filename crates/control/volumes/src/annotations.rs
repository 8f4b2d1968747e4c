//! The names by which binders, provisioners and schedulers leave each other word. Knows no meaning beyond them.

use kedge_client::Watched;

/// On a claim: both sides have been tied, and what is missing later was lost.
pub(crate) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// On a claim or a volume: its half of the tie is our doing and not the user's.
pub(crate) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// On a volume: who made it and will remove it.
pub(crate) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// On a claim: who is to make a volume for it.
pub(crate) const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
pub(crate) const OLD_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// On a claim: where its first pod will run.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// On a class: claims that name none get this one.
pub(crate) const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
pub(crate) const OLD_DEFAULT_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";
/// On a claim or a volume: its class, from before there was a field for it.
pub(crate) const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(crate) fn get<'o>(object: &'o impl Watched, name: &str) -> Option<&'o str> {
    object.meta().annotations.as_ref()?.get(name).map(String::as_str)
}

pub(crate) fn has(object: &impl Watched, name: &str) -> bool {
    get(object, name).is_some()
}

pub(crate) fn set(object: &mut impl Watched, name: &str, value: &str) {
    object.meta_mut().annotations.get_or_insert_default().insert(name.to_owned(), value.to_owned());
}

pub(crate) fn remove(object: &mut impl Watched, name: &str) {
    if let Some(annotations) = &mut object.meta_mut().annotations {
        annotations.remove(name);
    }
}
