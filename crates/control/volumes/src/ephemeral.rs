//! Volumes that live as long as one pod: a claim each, made from the pod's own template and owned by the pod.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Volume};
use kedge_children::claim;
use kedge_children::pods::PodFacts;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Refusal, Seen, Severity, World};
use kube::ResourceExt;

pub(crate) struct EphemeralVolumes;

impl Controller for EphemeralVolumes {
    type Root = Pod;
    const NAME: &'static str = "ephemeral_volume";

    fn watch(&self, world: &World) {
        world.watch::<PersistentVolumeClaim>();
    }

    /// Pods that have such volumes; when a claim goes, those that would have one of its name.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if let Some(pod) = seen.now::<Pod>() {
            let has = volumes(pod).next().is_some();
            return has.then(|| seen.key.clone()).into_iter().collect();
        }
        if !seen.is::<PersistentVolumeClaim>() || seen.now::<PersistentVolumeClaim>().is_some() {
            return Vec::new();
        }
        let pods =
            world.cache::<Pod>().map(|pods| pods.in_namespace(&seen.key.namespace)).unwrap_or_default();
        let wanting =
            pods.iter().filter(|pod| volumes(pod).any(|volume| claim_name(pod, volume) == seen.key.name));
        wanting.map(|pod| Key::of(&**pod)).collect()
    }

    fn plan(&self, pod: &Pod, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        let claims = world.cache::<PersistentVolumeClaim>()?;
        let namespace = pod.namespace().unwrap_or_default();
        let mut plan = Plan::default();
        if pod.is_leaving() {
            return Ok(plan);
        }
        for volume in volumes(pod) {
            let name = claim_name(pod, volume);
            match claims.get(&Key::new(namespace.clone(), name.clone())) {
                None => plan = plan.then(made(pod, volume, name)),
                Some(known) if is_of(&known, pod) => {}
                Some(_) => {
                    let pod_name = pod.name_any();
                    let why = format!(
                        "PVC {namespace}/{name} was not created for pod {namespace}/{pod_name} (pod is not owner)"
                    );
                    plan = plan.then([complaint(pod, &volume.name, &why)]);
                }
            }
        }
        Ok(plan)
    }

    fn refused(&self, pod: &Pod, refusals: &[Refusal], _now: Timestamp) -> Vec<Action> {
        let told = refusals.iter().filter_map(|refusal| {
            let Action::Create { object, .. } = &refusal.action else { return None };
            let name = object.pointer("/metadata/name")?.as_str()?;
            let volume = volumes(pod).find(|volume| claim_name(pod, volume) == name)?;
            let why = format!("create PVC {name}: {}", refusal.message);
            Some(complaint(pod, &volume.name, &why))
        });
        told.collect()
    }
}

fn complaint(pod: &Pod, volume: &str, why: &str) -> Action {
    Action::tell(pod, Severity::Warning, "FailedBinding", format!("ephemeral volume {volume}: {why}"))
}

fn made(pod: &Pod, volume: &Volume, name: String) -> Option<Action> {
    let template = volume.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
    let described = template.metadata.clone().unwrap_or_default();
    let mut made = PersistentVolumeClaim { spec: Some(template.spec.clone()), ..Default::default() };
    made.metadata.name = Some(name);
    made.metadata.namespace = pod.namespace();
    made.metadata.labels = described.labels;
    made.metadata.annotations = described.annotations;
    made.metadata.owner_references = Some(vec![claim::reference(pod)]);
    Some(Action::create(&made))
}

fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    volumes.iter().filter(|volume| volume.ephemeral.is_some())
}

fn claim_name(pod: &Pod, volume: &Volume) -> String {
    format!("{}-{}", pod.name_any(), volume.name)
}

/// The claim was made for this very pod.
pub(crate) fn is_of(claim: &PersistentVolumeClaim, pod: &Pod) -> bool {
    claim::controller(claim).is_some_and(|owner| Some(&owner.uid) == pod.metadata.uid.as_ref())
}

/// The claims that a pod uses, those of its own volumes too.
pub(crate) fn claims(pod: &Pod) -> Vec<Key> {
    let namespace = pod.namespace().unwrap_or_default();
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    let names = volumes.iter().filter_map(|volume| match &volume.persistent_volume_claim {
        Some(source) => Some(source.claim_name.clone()),
        None => volume.ephemeral.as_ref().map(|_| claim_name(pod, volume)),
    });
    names.map(|name| Key::new(namespace.clone(), name)).collect()
}

#[cfg(test)]
mod tests;
