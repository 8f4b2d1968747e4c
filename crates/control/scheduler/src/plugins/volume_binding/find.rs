//! The claims of a pod, and what each of them would get on a node.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, TopologySelectorTerm};
use k8s_openapi::api::storage::v1::{CSIDriver, CSIStorageCapacity, StorageClass};
use kedge_engine::{Key, NotReady, World};
use kedge_kinds::quantity::Quantity;

use super::matching::Candidate;
use super::storage::{self, ClaimName, Reach, SELECTED_NODE};
use crate::node::Node;
use crate::plugin::{Rejection, Whole};
use crate::pod::PodView;
use crate::select::{Labels, Selector};

const OUT_OF_REACH: &str = "node(s) didn't match PersistentVolume's node affinity";
const NO_VOLUME: &str = "node(s) didn't find available persistent volumes to bind";
const NO_SPACE: &str = "node(s) did not have enough free storage";
const LOST: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// Volumes of this class are made by hand.
const MADE_BY_HAND: &str = "kubernetes.io/no-provisioner";

pub(super) struct Claims {
    /// Where the volumes of bound claims can be reached; `None` for one that isn't there.
    bound: Vec<Option<Reach>>,
    /// Claims that wait for the pod, smallest first.
    waiting: Vec<Waiting>,
}

struct Waiting {
    claim: Arc<PersistentVolumeClaim>,
    class: Arc<StorageClass>,
    volumes: Vec<Candidate>,
    /// Where there is space for it; `None` if nobody keeps track.
    space: Option<Vec<Selector>>,
}

/// What the claims would get.
#[derive(Default)]
pub(super) struct Found {
    pub(super) there: Vec<(Arc<PersistentVolumeClaim>, Arc<PersistentVolume>)>,
    pub(super) to_make: Vec<Arc<PersistentVolumeClaim>>,
}

impl Claims {
    pub(super) fn of(pod: &PodView, world: &World) -> Result<Self, Whole> {
        let mut all = Self { bound: Vec::new(), waiting: Vec::new() };
        let mut unbound_at_once = false;
        let mut any = false;
        for name in storage::claim_names(pod) {
            any = true;
            let claim = usable(pod, &name, world)?;
            if storage::is_bound(&claim) {
                let volume = storage::volume(storage::volume_of(&claim).unwrap_or_default(), world)?;
                all.bound.push(volume.map(|volume| Reach::of(&volume)));
                continue;
            }
            let class = storage::class(storage::class_of(&claim), world)?;
            let class = class.filter(|class| storage::waits_for_consumer(class));
            match class.filter(|_| storage::volume_of(&claim).is_none()) {
                Some(class) => all.waiting.push(Waiting::new(claim, class, world)?),
                None => unbound_at_once = true,
            }
        }
        if !any {
            return Err(Whole::Skip);
        }
        if unbound_at_once {
            return Err(Whole::Reject(Rejection::lasting(
                "pod has unbound immediate PersistentVolumeClaims",
            )));
        }
        all.waiting.sort_by_key(|waiting| storage::asked_size(&waiting.claim));
        Ok(all)
    }

    pub(super) fn are_all_bound(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn find(&self, node: &Node) -> Result<Found, Rejection> {
        let reach =
            |volume: &&Option<Reach>| volume.as_ref().is_some_and(|reach| reach.includes(&node.labels));
        // The first claim whose volume is of no use here says why: it is out of reach, or it is not there.
        let useless = self.bound.iter().find(|volume| !reach(volume)).map(Option::is_some);
        let found = self.provide(node);
        let reasons = [
            (useless == Some(true)).then_some(OUT_OF_REACH),
            found.as_ref().err().copied(),
            (useless == Some(false)).then_some(LOST),
        ];
        let mut reasons = reasons.into_iter().flatten();
        match (found, reasons.next()) {
            (Ok(found), None) => Ok(found),
            (_, Some(first)) => {
                Err(Rejection { more: reasons.map(Into::into).collect(), ..Rejection::lasting(first) })
            }
            (Err(reason), None) => Err(Rejection::lasting(reason)),
        }
    }

    fn provide(&self, node: &Node) -> Result<Found, &'static str> {
        let mut found = Found::default();
        for waiting in &self.waiting {
            let chosen = storage::annotation(&waiting.claim.metadata, SELECTED_NODE);
            if chosen.is_some_and(|chosen| chosen != &*node.name) {
                return Err(NO_VOLUME);
            }
        }
        for waiting in &self.waiting {
            let being_made = storage::annotation(&waiting.claim.metadata, SELECTED_NODE).is_some();
            let taken = |candidate: &Candidate| {
                found.there.iter().any(|(_, volume)| Arc::ptr_eq(volume, &candidate.volume))
            };
            let volume = (!being_made).then(|| Candidate::best(&waiting.volumes, &node.labels, taken));
            match volume.flatten() {
                Some(volume) => found.there.push((waiting.claim.clone(), volume)),
                None => {
                    waiting.can_be_made_for(&node.labels)?;
                    found.to_make.push(waiting.claim.clone());
                }
            }
        }
        Ok(found)
    }
}

/// The claim, unless it is of no use to the pod.
fn usable(pod: &PodView, name: &ClaimName, world: &World) -> Result<Arc<PersistentVolumeClaim>, Whole> {
    let reject = |reason: String| Whole::Reject(Rejection::lasting(reason));
    let ClaimName { name, own } = name;
    let claim = storage::claim(pod, name, world).map_err(|error| match error {
        Whole::Reject(_) if *own => reject(format!(
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{name}\""
        )),
        error => error,
    })?;
    if claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Lost") {
        let volume = storage::volume_of(&claim).unwrap_or_default();
        return Err(reject(format!(
            "persistentvolumeclaim \"{name}\" bound to non-existent persistentvolume \"{volume}\""
        )));
    }
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(reject(format!("persistentvolumeclaim \"{name}\" is being deleted")));
    }
    let mut owners = claim.metadata.owner_references.iter().flatten();
    if *own && !owners.any(|owner| owner.controller == Some(true) && owner.uid == pod.uid) {
        let Key { namespace, name: pod } = &pod.key;
        return Err(reject(format!(
            "PVC {namespace}/{name} was not created for pod {namespace}/{pod} (pod is not owner)"
        )));
    }
    Ok(claim)
}

impl Waiting {
    fn new(
        claim: Arc<PersistentVolumeClaim>,
        class: Arc<StorageClass>,
        world: &World,
    ) -> Result<Self, NotReady> {
        let volumes = Candidate::all_for(&claim, world)?;
        let space = space(&claim, &class, world)?;
        Ok(Self { claim, class, volumes, space })
    }

    fn can_be_made_for(&self, node: &Labels) -> Result<(), &'static str> {
        let class = &self.class;
        if class.provisioner.is_empty() || class.provisioner == MADE_BY_HAND {
            return Err(NO_VOLUME);
        }
        let allowed = class.allowed_topologies.as_deref().unwrap_or_default();
        if !allowed.is_empty() && !allowed.iter().any(|term| is_allowed(term, node)) {
            return Err(NO_VOLUME);
        }
        match &self.space {
            Some(places) if !places.iter().any(|place| place.matches(node)) => Err(NO_SPACE),
            _ => Ok(()),
        }
    }
}

/// A term that asks for nothing allows nothing.
fn is_allowed(term: &TopologySelectorTerm, node: &Labels) -> bool {
    let asked = term.match_label_expressions.as_deref().unwrap_or_default();
    !asked.is_empty()
        && asked.iter().all(|one| node.get(&one.key).is_some_and(|value| one.values.contains(value)))
}

/// The nodes for which there is enough space, if the driver says how much there is.
fn space(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    world: &World,
) -> Result<Option<Vec<Selector>>, NotReady> {
    let Some(size) = storage::asked_size(claim) else { return Ok(None) };
    let driver = world.get::<CSIDriver>(&Key::new("", class.provisioner.clone()))?;
    if driver.is_none_or(|driver| driver.spec.storage_capacity != Some(true)) {
        return Ok(None);
    }
    let name = class.metadata.name.as_deref().unwrap_or_default();
    let enough = |capacity: &CSIStorageCapacity| {
        // The largest volume that can be made says more than what is left.
        let limit = capacity.maximum_volume_size.as_ref().or(capacity.capacity.as_ref());
        let limit = limit.and_then(|limit| limit.0.parse::<Quantity>().ok());
        capacity.storage_class_name == name && limit.is_some_and(|limit| limit >= size)
    };
    let all = world.cache::<CSIStorageCapacity>()?.all();
    let places = all.iter().filter(|capacity| enough(capacity));
    Ok(Some(places.map(|capacity| Selector::of(capacity.node_topology.as_ref())).collect()))
}
