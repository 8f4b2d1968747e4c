//! Keeps claims that pods use and volumes that claims use, by a finalizer that goes when deletion is asked and nobody does.

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kedge_children::pods::PodFacts;
use kedge_client::{Client, Objects, Watched, Written};
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, World};
use kube::ResourceExt;
use kube::api::ListParams;

use crate::careful::{Decide, Verdict};
use crate::{ephemeral, fit};

const OF_CLAIMS: &str = "kubernetes.io/pvc-protection";
const OF_VOLUMES: &str = "kubernetes.io/pv-protection";

/// Claims stay while a pod that has a node names them.
pub(crate) struct Claims;

/// Volumes stay while they are bound.
pub(crate) struct Volumes;

impl Decide for Claims {
    type Root = PersistentVolumeClaim;
    /// The pods of the claim's namespace.
    type Proof = Vec<Pod>;
    const NAME: &'static str = "pvc-protection-controller";

    fn watch(&self, world: &World) {
        world.watch::<Pod>();
    }

    /// Claims, and those of a pod that is gone, has ended or uses others now.
    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        if seen.is::<PersistentVolumeClaim>() {
            return vec![seen.key.clone()];
        }
        let let_go = match (seen.before::<Pod>(), seen.now::<Pod>()) {
            (Some(before), None) => Some(before),
            (Some(before), Some(now)) => Some(before)
                .filter(|_| has_ended(now) && !has_ended(before) || before.metadata.uid != now.metadata.uid),
            _ => None,
        };
        let_go.map(ephemeral::claims).unwrap_or_default()
    }

    fn decide(
        &self,
        claim: &PersistentVolumeClaim,
        world: &World,
        proof: Option<&Self::Proof>,
        _now: Timestamp,
    ) -> Result<Verdict, NotReady> {
        let is_protected = has(claim, OF_CLAIMS);
        if claim.metadata.deletion_timestamp.is_none() {
            let added = (!is_protected).then(|| with(claim, OF_CLAIMS)).flatten();
            return Ok(Plan::from(added).into());
        }
        if !is_protected {
            return Ok(Plan::default().into());
        }
        let namespace = claim.namespace().unwrap_or_default();
        let known = world.cache::<Pod>()?.in_namespace(&namespace);
        let is_used = known.iter().any(|pod| uses(pod, claim));
        Ok(match proof {
            _ if is_used => Plan::default().into(),
            None => Verdict::Prove,
            Some(pods) if pods.iter().any(|pod| uses(pod, claim)) => Plan::default().into(),
            Some(_) => Plan::from(without(claim, OF_CLAIMS)).into(),
        })
    }

    fn prove<'a>(
        &'a self,
        claim: &'a PersistentVolumeClaim,
        client: &'a Client,
    ) -> BoxFuture<'a, Result<Self::Proof, kube::Error>> {
        async {
            let pods = Objects::within(client, &claim.namespace().unwrap_or_default());
            pods.list(&ListParams::default()).await
        }
        .boxed()
    }
}

fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    if pod.node().is_none() || !ephemeral::claims(pod).contains(&Key::of(claim)) {
        return false;
    }
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    let named = volumes.iter().filter_map(|volume| volume.persistent_volume_claim.as_ref());
    let by_name = named.into_iter().any(|source| Some(&source.claim_name) == claim.metadata.name.as_ref());
    // A pod's own claim goes with it, and so it can't be what keeps the claim once all is over.
    by_name || (!has_ended(pod) && ephemeral::is_of(claim, pod))
}

fn has_ended(pod: &Pod) -> bool {
    matches!(pod.phase(), "Succeeded" | "Failed")
}

impl Controller for Volumes {
    type Root = PersistentVolume;
    const NAME: &'static str = "pv-protection-controller";

    fn watch(&self, _world: &World) {}

    fn plan(&self, volume: &PersistentVolume, _world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        let is_leaving = volume.metadata.deletion_timestamp.is_some();
        let change = match (is_leaving, has(volume, OF_VOLUMES)) {
            (false, false) => with(volume, OF_VOLUMES),
            (true, true) if fit::phase(volume) != "Bound" => without(volume, OF_VOLUMES),
            _ => None,
        };
        Ok(change.into())
    }
}

pub(crate) fn has<K: Watched>(object: &K, finalizer: &str) -> bool {
    object.finalizers().iter().any(|known| known == finalizer)
}

fn with<K: Written>(object: &K, finalizer: &str) -> Option<Action> {
    let mut changed = object.clone();
    changed.finalizers_mut().push(finalizer.to_owned());
    Action::change(object, &changed)
}

pub(crate) fn without<K: Written>(object: &K, finalizer: &str) -> Option<Action> {
    let mut changed = object.clone();
    changed.finalizers_mut().retain(|known| known != finalizer);
    Action::change(object, &changed)
}

#[cfg(test)]
mod tests;
