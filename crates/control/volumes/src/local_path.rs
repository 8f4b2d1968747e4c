//! Volumes on a node's own disk: a class for them, the volume for a claim whose node is known, and its removal. Touches no
//! disk: making and removing the folder is the business of the node that holds it (`docs/decisions/0006-local-path.md`).

mod made;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use kedge_engine::{Action, Controller, Key, NotReady, Plan, Seen, Severity, World};
use kube::ResourceExt;

use crate::annotations::{self, DEFAULT_CLASS, PROVISIONED_BY, PROVISIONER, SELECTED_NODE};
use crate::volumes::policy;
use crate::{classes, fit, protection};

const NAME: &str = "kedge.dev/local-path";
/// The volume's node has yet to remove its folder.
const FINALIZER: &str = NAME;
const CLASS: &str = "local-path";
/// On `kube-system`: the class was made once; who deletes it does not want it.
const CLASS_MADE: &str = "kedge.dev/local-path-class";
/// On a node: where its volumes lie.
const FOLDER: &str = "kedge.dev/volumes";
const USUAL_FOLDER: &str = "/var/lib/kedge/volumes";

/// Makes the class, once in a cluster's life.
pub(crate) struct Class;

/// Makes a volume for each claim that asks for one and knows its node.
pub(crate) struct Provisioner;

/// Removes volumes that their claims have left behind.
pub(crate) struct Remover;

impl Controller for Class {
    type Root = Namespace;
    const NAME: &'static str = NAME;

    fn watch(&self, world: &World) {
        world.watch::<StorageClass>();
    }

    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        let is_it = seen.is::<Namespace>() && seen.key.name == "kube-system";
        is_it.then(|| seen.key.clone()).into_iter().collect()
    }

    fn plan(&self, namespace: &Namespace, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        if namespace.name_any() != "kube-system" || annotations::has(namespace, CLASS_MADE) {
            return Ok(Plan::default());
        }
        let known = world.cache::<StorageClass>()?;
        let missing = known.get(&Key::new("", CLASS)).is_none();
        // Somebody's own choice of a default is not ours to change.
        let made = missing.then(|| Action::create(&class(classes::default(&known).is_none())));
        let mut marked = namespace.clone();
        annotations::set(&mut marked, CLASS_MADE, "made");
        Ok(Plan::from(made).then(Action::change(namespace, &marked)))
    }
}

fn class(is_default: bool) -> StorageClass {
    let mut class = StorageClass {
        provisioner: NAME.to_owned(),
        reclaim_policy: Some("Delete".to_owned()),
        volume_binding_mode: Some("WaitForFirstConsumer".to_owned()),
        ..StorageClass::default()
    };
    class.metadata.name = Some(CLASS.to_owned());
    if is_default {
        annotations::set(&mut class, DEFAULT_CLASS, "true");
    }
    class
}

impl Controller for Provisioner {
    type Root = PersistentVolumeClaim;
    const NAME: &'static str = NAME;

    fn watch(&self, world: &World) {
        world.watch::<PersistentVolume>().watch::<StorageClass>().watch::<Node>();
    }

    /// Claims that ask for a volume of ours, and when one of those goes, its claim.
    fn wakes(&self, seen: &Seen<'_>, _world: &World) -> Vec<Key> {
        if let Some(claim) = seen.now::<PersistentVolumeClaim>() {
            return is_asked(claim).then(|| seen.key.clone()).into_iter().collect();
        }
        if seen.now::<PersistentVolume>().is_some() {
            return Vec::new();
        }
        seen.before::<PersistentVolume>().and_then(fit::claim_key).into_iter().collect()
    }

    fn plan(&self, claim: &PersistentVolumeClaim, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        let is_leaving = claim.metadata.deletion_timestamp.is_some();
        if is_leaving || !is_asked(claim) {
            return Ok(Plan::default());
        }
        let name = made::name(claim);
        let Some(class) = classes::find(&*world.cache::<StorageClass>()?, classes::of_claim(claim)) else {
            return Ok(Plan::default());
        };
        if class.provisioner != NAME || world.get::<PersistentVolume>(&Key::new("", &*name))?.is_some() {
            return Ok(Plan::default());
        }
        let failed = |why: String| {
            let message =
                format!("failed to provision volume with StorageClass {:?}: {why}", class.name_any());
            Plan::from([Action::tell(claim, Severity::Warning, "ProvisioningFailed", message)])
        };
        if let Some(why) = made::unable(claim) {
            return Ok(failed(why.to_owned()));
        }
        let Some(node_name) = annotations::get(claim, SELECTED_NODE) else {
            // Where consumers are waited for, the scheduler will say where.
            let waits = classes::waits_for_consumer(&class);
            let why = "a local volume needs a class with volumeBindingMode WaitForFirstConsumer";
            return Ok(if waits { Plan::default() } else { failed(why.to_owned()) });
        };
        let Some(node) = world.get::<Node>(&Key::new("", node_name))? else {
            let mut anywhere = claim.clone();
            annotations::remove(&mut anywhere, SELECTED_NODE);
            return Ok(failed(format!("node {node_name:?} not found")).then(Action::change(claim, &anywhere)));
        };
        let volume = made::volume(claim, &class, &node);
        let message = format!("Successfully provisioned volume {name}");
        Ok(Plan::from([
            Action::create(&volume),
            Action::tell(claim, Severity::Normal, "ProvisioningSucceeded", message),
        ]))
    }
}

/// It has no volume and our name on it.
fn is_asked(claim: &PersistentVolumeClaim) -> bool {
    let named = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()).unwrap_or_default();
    named.is_empty() && annotations::get(claim, PROVISIONER) == Some(NAME)
}

impl Controller for Remover {
    type Root = PersistentVolume;
    const NAME: &'static str = NAME;

    fn watch(&self, world: &World) {
        world.watch::<Node>();
    }

    /// Its own volumes; when a node goes, those that wait for it.
    fn wakes(&self, seen: &Seen<'_>, world: &World) -> Vec<Key> {
        if let Some(volume) = seen.now::<PersistentVolume>() {
            return is_ours(volume).then(|| seen.key.clone()).into_iter().collect();
        }
        if !seen.is::<Node>() || seen.now::<Node>().is_some() {
            return Vec::new();
        }
        let volumes = world.cache::<PersistentVolume>().map(|cache| cache.all()).unwrap_or_default();
        let waiting = volumes.iter().filter(|volume| is_ours(volume) && is_leaving(volume));
        waiting.map(|volume| Key::of(&**volume)).collect()
    }

    fn plan(&self, volume: &PersistentVolume, world: &World, _now: Timestamp) -> Result<Plan, NotReady> {
        if !is_ours(volume) {
            return Ok(Plan::default());
        }
        if !is_leaving(volume) {
            let is_left = fit::phase(volume) == "Released" && policy(volume) == "Delete";
            return Ok(is_left.then(|| Action::delete(volume)).into());
        }
        // Whoever could remove the folder went with it.
        let node = annotations::get(volume, made::NODE).unwrap_or_default();
        let is_gone = world.get::<Node>(&Key::new("", node))?.is_none();
        let free = fit::phase(volume) != "Bound" && is_gone && protection::has(volume, FINALIZER);
        Ok(free.then(|| protection::without(volume, FINALIZER)).flatten().into())
    }
}

fn is_ours(volume: &PersistentVolume) -> bool {
    annotations::get(volume, PROVISIONED_BY) == Some(NAME)
}

fn is_leaving(volume: &PersistentVolume) -> bool {
    volume.metadata.deletion_timestamp.is_some()
}

#[cfg(test)]
mod tests;
