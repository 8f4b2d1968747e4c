//! The templates that a StatefulSet or a DaemonSet has had, one ControllerRevision for each, so that it can be rolled back.
//! Knows templates and numbers, no pods.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kedge_children::claim::{self, claim};
use kedge_children::names::{self, Hash};
use kedge_client::{Watched, Written};
use kedge_engine::{Action, Key, NotReady, Seen, World};
use kube::ResourceExt;
use kube::core::SelectorExt;
use serde_json::{Value, json};

/// What a pod carries to say which revision it is of.
pub(crate) const POD_LABEL: &str = "controller-revision-hash";
const HASH_LENGTH: usize = 10;
/// How many old templates are kept where nobody says how many.
pub(crate) const LIMIT: usize = 10;
/// The longest part of an owner's name that leaves room for a hash.
const LONGEST_BASE: usize = 223;

/// A kind whose templates are remembered.
pub(crate) trait Revised: Written {
    /// Under which label a revision carries its hash.
    const HASH_LABEL: &'static str;

    fn template(&self) -> Option<&PodTemplateSpec>;
    fn selector(&self) -> Option<&LabelSelector>;
    /// How many of its revisions' names were taken.
    fn collisions(&self) -> i32;
    /// How many old templates it keeps.
    fn limit(&self) -> usize;
}

/// What the kinds with templates have in common, which their types don't say.
macro_rules! revised {
    ($kind:ty, $label:expr) => {
        impl $crate::revisions::Revised for $kind {
            const HASH_LABEL: &'static str = $label;

            fn template(&self) -> Option<&k8s_openapi::api::core::v1::PodTemplateSpec> {
                self.spec.as_ref().map(|spec| &spec.template)
            }

            fn selector(&self) -> Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector> {
                self.spec.as_ref().map(|spec| &spec.selector)
            }

            fn collisions(&self) -> i32 {
                self.status.as_ref().and_then(|status| status.collision_count).unwrap_or(0)
            }

            fn limit(&self) -> usize {
                let limit = self.spec.as_ref().and_then(|spec| spec.revision_history_limit);
                limit.map_or($crate::revisions::LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
            }
        }
    };
}
pub(crate) use revised;

/// What is remembered of an owner's templates.
pub(crate) struct History {
    /// The present template's. It is there, or the actions make it.
    pub(crate) newest: Arc<ControllerRevision>,
    /// The others, the oldest first.
    pub(crate) older: Vec<Arc<ControllerRevision>>,
    pub(crate) actions: Vec<Action>,
}

pub(crate) enum Found {
    Known(History),
    /// The name for a new revision is somebody else's; `collisions` must grow.
    Taken,
}

/// Takes in, numbers and, if need be, makes revisions until the present template has the highest number.
pub(crate) fn history<O: Revised>(owner: &O, world: &World) -> Result<Found, NotReady> {
    let known = world.cache::<ControllerRevision>()?;
    let selector = claim::selecting(owner.selector());
    let claim = claim(owner, &selector, claim::candidates(owner, owner.selector(), &known));
    let mut actions = claim.actions;
    let (found, older) = split(owner, claim.mine);
    let next = older.iter().map(|one| one.revision).max().unwrap_or(0) + 1;
    let newest = match found {
        Some(found) if found.revision >= next => found,
        // Being rolled back to makes an old template the newest.
        Some(found) => {
            let mut numbered = (*found).clone();
            numbered.revision = next;
            actions.extend(Action::change(&*found, &numbered));
            Arc::new(numbered)
        }
        None => {
            let made = make(owner, next);
            if known.get(&Key::of(&made)).is_some() {
                return Ok(Found::Taken);
            }
            actions.push(Action::create(&made));
            Arc::new(made)
        }
    };
    Ok(Found::Known(History { newest, older, actions }))
}

/// The present template's revision as far as there is one, and the others; for an owner that makes nothing any more.
pub(crate) fn present<O: Revised>(owner: &O, world: &World) -> Result<Option<History>, NotReady> {
    let mine = world.cache::<ControllerRevision>()?.owned_by(owner.meta().uid.as_deref().unwrap_or_default());
    let (newest, older) = split(owner, mine);
    Ok(newest.map(|newest| History { newest, older, actions: Vec::new() }))
}

/// Of several with the present template the last one is it.
fn split<O: Revised>(
    owner: &O,
    mut all: Vec<Arc<ControllerRevision>>,
) -> (Option<Arc<ControllerRevision>>, Vec<Arc<ControllerRevision>>) {
    all.sort_by_key(|one| (one.revision, one.creation_timestamp().map(|time| time.0), one.name_any()));
    let found = all.iter().rposition(|one| is_of(one, owner));
    (found.map(|index| all.remove(index)), all)
}

/// Whether a revision has the owner's present template. By meaning, not by spelling: another writer of the same history may
/// have spelled absence out.
pub(crate) fn is_of<O: Revised>(revision: &ControllerRevision, owner: &O) -> bool {
    template(revision).as_ref() == owner.template()
}

/// The template that a revision remembers, if it can be read.
pub(crate) fn template(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
    let template = revision.data.as_ref()?.0.get("spec")?.get("template")?;
    // A template is what there is of a pod before there is one, and what reads pods is there already.
    let pod = Pod::read(template.to_string().as_bytes()).ok()?;
    let has_metadata = template.get("metadata").is_some_and(|metadata| !metadata.is_null());
    Some(PodTemplateSpec { metadata: has_metadata.then_some(pod.metadata), spec: pod.spec })
}

/// The oldest beyond the limit, but for those that somebody still uses.
pub(crate) fn surplus<O: Revised>(
    owner: &O,
    older: &[Arc<ControllerRevision>],
    is_live: impl Fn(&ControllerRevision) -> bool,
) -> Vec<Action> {
    let count = older.len().saturating_sub(owner.limit());
    let dead = older.iter().filter(|one| !is_live(one) && one.metadata.deletion_timestamp.is_none());
    dead.take(count).map(|one| Action::delete(&**one)).collect()
}

/// A patch that gives an owner this template: what every client expects in a revision.
fn data(template: Option<&PodTemplateSpec>) -> Value {
    // By way of text: what writes that is there for the hashes of Deployments already.
    let text = serde_json::to_string(&template).unwrap_or_default();
    let mut template: Value = serde_json::from_str(&text).unwrap_or_default();
    if let Some(fields) = template.as_object_mut() {
        fields.insert("$patch".to_owned(), "replace".into());
    }
    json!({"spec": {"template": template}})
}

fn make<O: Revised>(owner: &O, revision: i64) -> ControllerRevision {
    let data = data(owner.template());
    let mut hash = Hash::new();
    hash.add(data.to_string().as_bytes());
    hash.add(&owner.collisions().to_le_bytes());
    let hash = names::safe(hash.value(), HASH_LENGTH);
    let base: String = owner.name_any().chars().take(LONGEST_BASE).collect();
    let template = owner.template().and_then(|template| template.metadata.as_ref());
    let mut labels = template.and_then(|meta| meta.labels.clone()).unwrap_or_default();
    labels.insert(O::HASH_LABEL.to_owned(), hash.clone());
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(format!("{base}-{hash}")),
            namespace: owner.namespace(),
            labels: Some(labels),
            annotations: owner.meta().annotations.clone(),
            owner_references: Some(vec![claim::reference(owner)]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(data)),
        revision,
    }
}

/// Owners that a revision which belongs to nobody might concern.
pub(crate) fn wakes<O: Revised>(seen: &Seen<'_>, world: &World) -> Vec<Key> {
    let orphan = seen.now::<ControllerRevision>().filter(|one| claim::controller(*one).is_none());
    let Some(labels) = orphan.map(|one| one.metadata.labels.clone().unwrap_or_default()) else {
        return Vec::new();
    };
    let owners = world.cache::<O>().map(|cache| cache.in_namespace(&seen.key.namespace)).unwrap_or_default();
    let mine = owners.iter().filter(|owner| claim::selecting(owner.selector()).matches(&labels));
    mine.map(|owner| Key::of(&**owner)).collect()
}

#[cfg(test)]
mod tests;
