//! Whose is it: children that an owner has, takes in or lets go, by label and by owner reference. By uid, so that an owner
//! that was made again under its old name inherits nothing.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use kedge_client::{Cache, Watched, Written};
use kedge_engine::Action;
use kube::core::{Expression, Selector, SelectorExt};

/// What an owner has, and what has to be done so that it does.
pub struct Claim<K> {
    pub mine: Vec<Arc<K>>,
    pub actions: Vec<Action>,
}

/// Goes through an owner's possible children. An owner that is leaving takes nobody in and lets nobody go.
pub fn claim<O, K>(owner: &O, selector: &Selector, candidates: Vec<Arc<K>>) -> Claim<K>
where
    O: Watched,
    K: Written,
{
    let leaving = owner.meta().deletion_timestamp.is_some();
    let mut claim = Claim { mine: Vec::new(), actions: Vec::new() };
    for child in candidates {
        let meta = child.meta();
        let matches = selector.matches(meta.labels.as_ref().unwrap_or(&Default::default()));
        match controller(&*child) {
            Some(reference) if Some(&reference.uid) != owner.meta().uid.as_ref() => {}
            Some(_) if matches => claim.mine.push(child),
            Some(_) if leaving => {}
            Some(_) => claim.actions.extend(let_go(owner, &*child)),
            None if !matches || leaving || meta.deletion_timestamp.is_some() => {}
            None => {
                claim.actions.extend(take_in(owner, &*child));
                claim.mine.push(child);
            }
        }
    }
    claim
}

/// What could be an owner's: what is, and what belongs to nobody and has its labels.
pub fn candidates<O, K>(owner: &O, selector: Option<&LabelSelector>, known: &Cache<K>) -> Vec<Arc<K>>
where
    O: Watched,
    K: Watched,
{
    let meta = owner.meta();
    let labels = selector.and_then(|selector| selector.match_labels.clone()).unwrap_or_default();
    let mut found = known.owned_by(meta.uid.as_deref().unwrap_or_default());
    let alike = known.labelled(meta.namespace.as_deref().unwrap_or_default(), &labels);
    found.extend(alike.into_iter().filter(|child| controller(&**child).is_none()));
    found
}

/// What a selector selects: nothing if it makes no sense, or if there is none. Such an owner can't be created.
pub fn selecting(selector: Option<&LabelSelector>) -> Selector {
    let selector = selector.cloned().and_then(|selector| Selector::try_from(selector).ok());
    selector.unwrap_or_else(nothing)
}

pub fn nothing() -> Selector {
    Expression::In("-".to_owned(), Default::default()).into()
}

/// The one owner that looks after an object.
pub fn controller<K: Watched>(object: &K) -> Option<&OwnerReference> {
    object.meta().owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// How an owner's children name it.
pub fn reference<O: Watched>(owner: &O) -> OwnerReference {
    let meta = owner.meta();
    OwnerReference {
        api_version: O::api_version(&()).into_owned(),
        kind: O::kind(&()).into_owned(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn take_in<O: Watched, K: Written>(owner: &O, child: &K) -> Option<Action> {
    let mut taken = child.clone();
    taken.meta_mut().owner_references.get_or_insert_default().push(reference(owner));
    Action::change(child, &taken)
}

fn let_go<O: Watched, K: Written>(owner: &O, child: &K) -> Option<Action> {
    let mut free = child.clone();
    let owners = free.meta_mut().owner_references.get_or_insert_default();
    owners.retain(|reference| Some(&reference.uid) != owner.meta().uid.as_ref());
    Action::change(child, &free)
}
