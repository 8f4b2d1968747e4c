//! Finds every claim its volume: the one that it names, one that fits, or one that somebody is asked to make. Of a bound claim
//! it only says when its volume is lost.

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kedge_children::pods::PodFacts;
use kedge_client::{Client, Objects};
use kedge_engine::{Action, Key, NotReady, Plan, Seen, Severity, World};
use kedge_kinds::quantity::Quantity;
use kube::ResourceExt;

use crate::annotations::{self, BIND_COMPLETED, OLD_PROVISIONER, PROVISIONER, SELECTED_NODE};
use crate::bind::{bind, claim_status};
use crate::careful::{Decide, Verdict};
use crate::{classes, ephemeral, fit};

pub(crate) struct Claims;

impl Decide for Claims {
    type Root = PersistentVolumeClaim;
    /// The volume that the claim names, if there is one of that name.
    type Proof = Option<PersistentVolume>;
    const NAME: &'static str = "persistentvolume-controller";

    fn watch(&self, world: &World) {
        world.watch::<PersistentVolume>().watch::<StorageClass>().watch::<Pod>();
    }

    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if seen.is::<PersistentVolumeClaim>() {
            return vec![seen.key.clone()];
        }
        if seen.is::<PersistentVolume>() {
            return by_volume(seen, world);
        }
        if seen.is::<StorageClass>() {
            // Also those of no class: this may be the default now.
            return unbound(world, |claim| classes::chosen(claim).is_none_or(|name| name == seen.key.name));
        }
        // Only what is said about a claim that waits depends on pods.
        let new = seen.now::<Pod>().filter(|pod| seen.before::<Pod>().is_none() && pod.node().is_none());
        new.map(ephemeral::claims).unwrap_or_default()
    }

    fn decide(
        &self,
        claim: &PersistentVolumeClaim,
        world: &World,
        proof: Option<&Self::Proof>,
        now: Timestamp,
    ) -> Result<Verdict, NotReady> {
        let is_bound = annotations::has(claim, BIND_COMPLETED);
        let Some(name) = volume_name(claim) else {
            return Ok(match is_bound {
                true => lost(
                    claim,
                    "ClaimLost",
                    "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
                )
                .into(),
                false if claim.metadata.deletion_timestamp.is_some() => Plan::default().into(),
                false => search(claim, world, now)?.into(),
            });
        };
        let cached = world.get::<PersistentVolume>(&Key::new("", name))?;
        let volume = match (cached.as_deref(), proof) {
            (Some(volume), None) if is_bound && !may_be_mine(volume, claim) => return Ok(Verdict::Prove),
            (None, None) => return Ok(Verdict::Prove),
            (Some(volume), None) => Some(volume),
            (_, Some(found)) => found.as_ref(),
        };
        Ok(match is_bound {
            true => bound(claim, volume, now),
            false => named(claim, volume, now),
        }
        .into())
    }

    fn prove<'a>(
        &'a self,
        claim: &'a PersistentVolumeClaim,
        client: &'a Client,
    ) -> BoxFuture<'a, Result<Self::Proof, kube::Error>> {
        async {
            let Some(name) = volume_name(claim) else { return Ok(None) };
            Objects::all(client).find(name).await
        }
        .boxed()
    }
}

fn volume_name(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref().filter(|name| !name.is_empty())
}

/// The claims that name it or that it names, and if it is free, those that could use it.
fn by_volume(seen: &Seen<'_>, world: &World) -> Vec<Key> {
    let sides = [seen.before::<PersistentVolume>(), seen.now::<PersistentVolume>()];
    let mut keys: Vec<Key> = sides.into_iter().flatten().filter_map(fit::claim_key).collect();
    let is_free = seen.now::<PersistentVolume>().filter(|volume| fit::claim_ref(volume).is_none());
    let claims = world.cache::<PersistentVolumeClaim>().map(|cache| cache.all()).unwrap_or_default();
    let concerned = claims.iter().filter(|claim| match volume_name(claim) {
        Some(name) => name == seen.key.name,
        None => is_free.is_some_and(|volume| classes::of_volume(volume) == classes::of_claim(claim)),
    });
    keys.extend(concerned.map(|claim| Key::of(&**claim)));
    keys.dedup();
    keys
}

fn unbound(world: &World, concerns: impl Fn(&PersistentVolumeClaim) -> bool) -> Vec<Key> {
    let claims = world.cache::<PersistentVolumeClaim>().map(|cache| cache.all()).unwrap_or_default();
    let concerned = claims.iter().filter(|claim| volume_name(claim).is_none() && concerns(claim));
    concerned.map(|claim| Key::of(&**claim)).collect()
}

fn may_be_mine(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    fit::claim_ref(volume).is_none_or(|reference| reference.uid == claim.metadata.uid)
}

/// Both sides were tied once.
fn bound(claim: &PersistentVolumeClaim, volume: Option<&PersistentVolume>, now: Timestamp) -> Plan {
    match volume {
        None => {
            lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
        }
        Some(volume) if may_be_mine(volume, claim) => Plan::from(bind(volume, claim, now)).then(grown(claim)),
        Some(_) => lost(
            claim,
            "ClaimMisbound",
            "Two claims are bound to the same volume, this one is bound incorrectly",
        ),
    }
}

fn lost(claim: &PersistentVolumeClaim, reason: &'static str, message: &str) -> Plan {
    let known = claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Lost");
    let told = (!known).then(|| Action::tell(claim, Severity::Warning, reason, message));
    Plan::from(claim_status(claim, "Lost", None)).then(told)
}

/// A claim that asks for more than it has got: we know no way to enlarge a volume, its driver may.
fn grown(claim: &PersistentVolumeClaim) -> Option<Action> {
    let has: Quantity = claim.status.as_ref()?.capacity.as_ref()?.get("storage")?.0.parse().ok()?;
    let message = "waiting for an external controller to expand this PVC";
    (fit::requested(claim)? > has)
        .then(|| Action::tell(claim, Severity::Normal, "ExternalExpanding", message))
}

/// It names a volume and is not tied to it yet.
fn named(claim: &PersistentVolumeClaim, volume: Option<&PersistentVolume>, now: Timestamp) -> Plan {
    let Some(volume) = volume else { return pending(claim, None) };
    if fit::is_reserved(volume, claim) {
        return bind(volume, claim, now).into();
    }
    let name = volume.name_any();
    let told = match (fit::claim_ref(volume), fit::misfit(volume, claim)) {
        (None, None) => return bind(volume, claim, now).into(),
        (None, Some(why)) => {
            let message = format!("Cannot bind to requested volume {name:?}: {why}");
            Action::tell(claim, Severity::Warning, "VolumeMismatch", message)
        }
        (Some(_), _) => {
            let message = format!("volume {name:?} already bound to a different claim.");
            Action::tell(claim, Severity::Warning, "FailedBinding", message)
        }
    };
    pending(claim, Some(told))
}

/// It takes any volume that fits.
fn search(claim: &PersistentVolumeClaim, world: &World, now: Timestamp) -> Result<Plan, NotReady> {
    let known = world.cache::<StorageClass>()?;
    let name = classes::of_claim(claim);
    let class = classes::find(&known, name);
    let waits = class.as_deref().is_some_and(classes::waits_for_consumer);
    if let Some(volume) = fit::best(claim, world.cache::<PersistentVolume>()?.all(), waits) {
        return Ok(bind(&volume, claim, now).into());
    }
    if classes::chosen(claim).is_none()
        && let Some(class) = classes::default(&known)
    {
        let mut assigned = claim.clone();
        assigned.spec.get_or_insert_default().storage_class_name = Some(class.name_any());
        return Ok(Action::change(claim, &assigned).into());
    }
    if waits && !annotations::has(claim, SELECTED_NODE) {
        return Ok(pending(claim, Some(waiting(claim, world)?)));
    }
    if name.is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        return Ok(pending(claim, Some(Action::tell(claim, Severity::Normal, "FailedBinding", message))));
    }
    Ok(provision(claim, name, class.as_deref()))
}

fn waiting(claim: &PersistentVolumeClaim, world: &World) -> Result<Action, NotReady> {
    let key = Key::of(claim);
    let pods = world.cache::<Pod>()?.in_namespace(&key.namespace);
    let unplaced = pods.iter().filter(|pod| pod.node().is_none() && ephemeral::claims(pod).contains(&key));
    let names: Vec<String> = unplaced.map(|pod| pod.name_any()).collect();
    let tell = |reason, message: String| Action::tell(claim, Severity::Normal, reason, message);
    Ok(match &*names {
        [] => {
            let message = "waiting for first consumer to be created before binding";
            tell("WaitForFirstConsumer", message.to_owned())
        }
        [name] => tell("WaitForPodScheduled", format!("waiting for pod {name} to be scheduled")),
        names => tell("WaitForPodScheduled", format!("waiting for pods {} to be scheduled", names.join(","))),
    })
}

/// Asks the class's provisioner for a volume.
fn provision(claim: &PersistentVolumeClaim, name: &str, class: Option<&StorageClass>) -> Plan {
    let failed =
        |message: String| Some(Action::tell(claim, Severity::Warning, "ProvisioningFailed", message));
    let Some(class) = class else {
        return pending(claim, failed(format!("storageclass.storage.k8s.io {name:?} not found")));
    };
    let provisioner = &*class.provisioner;
    if provisioner.starts_with("kubernetes.io/") {
        return pending(claim, failed(format!("no volume plugin matched name: {provisioner}")));
    }
    let mut asked = claim.clone();
    annotations::set(&mut asked, PROVISIONER, provisioner);
    annotations::set(&mut asked, OLD_PROVISIONER, provisioner);
    let Some(asks) = Action::change(claim, &asked) else { return pending(claim, None) };
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system \
         administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    );
    let told = Action::tell(claim, Severity::Normal, "ExternalProvisioning", message);
    Plan::from([asks]).then(claim_status(claim, "Pending", None)).then([told])
}

fn pending(claim: &PersistentVolumeClaim, told: Option<Action>) -> Plan {
    Plan::from(claim_status(claim, "Pending", None)).then(told)
}

#[cfg(test)]
mod tests;
