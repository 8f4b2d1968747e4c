//! The volume behind a claim. A claim that is not ready yet says so in Kubernetes' own words.

use std::collections::BTreeMap;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{
    Node, NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume, PersistentVolumeClaim, Pod,
    Volume as Listed, VolumeNodeAffinity,
};
use kedge_client::Objects;
use kedge_mounts::{Nfs, Volume};

use super::cause::{Cause, ClaimCause, VolumeError};
use super::{host, local_path, uses};
use crate::tools::Tools;

const PROTECTION: &str = "kubernetes.io/pvc-protection";

/// What a claim leads to.
pub(super) struct Claimed {
    /// The volume's own name.
    pub(super) name: String,
    pub(super) volume: Volume,
    pub(super) read_only: bool,
}

/// The claim that a volume of the pod names, if it names one. One that was made for the pod has a name of its own.
pub(super) fn named(pod: &Pod, listed: &Listed) -> Option<(String, bool)> {
    if let Some(source) = &listed.persistent_volume_claim {
        return Some((source.claim_name.clone(), source.read_only == Some(true)));
    }
    listed.ephemeral.as_ref()?;
    Some((format!("{}-{}", pod.metadata.name.as_deref().unwrap_or_default(), listed.name), false))
}

pub(super) async fn find(
    tools: &Tools,
    pod: &Pod,
    listed: &Listed,
    (name, read_only): (String, bool),
) -> Result<Claimed, VolumeError> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let full = format!("{namespace}/{name}");
    let unprocessed = |cause| VolumeError::Unprocessed { volume: listed.name.clone(), cause };
    let wrong = |cause| unprocessed(Cause::Claim { claim: full.clone(), cause });
    let claims = Objects::<PersistentVolumeClaim>::within(&tools.client, namespace);
    let claim = claims.find(&name).await.map_err(|error| wrong(ClaimCause::Api(Box::new(error))))?;
    let claim = claim.ok_or_else(|| wrong(ClaimCause::Absent(name)))?;
    let volume = bound(&claim).map_err(wrong)?;
    if listed.ephemeral.is_some() && !is_owned(&claim, pod) {
        let pod = format!("{namespace}/{}", pod.metadata.name.as_deref().unwrap_or_default());
        return Err(unprocessed(Cause::NotOurs { claim: full, pod }));
    }
    let volumes = Objects::<PersistentVolume>::all(&tools.client);
    let found = volumes.find(&volume).await;
    let found = found.map_err(|error| wrong(ClaimCause::VolumeApi(volume.clone(), Box::new(error))))?;
    let found = found.ok_or_else(|| wrong(ClaimCause::NoVolume(volume.clone())))?;
    is_tied(&found, &volume, &claim).map_err(wrong)?;
    let spec = found.spec.clone().unwrap_or_default();
    let mode = spec.volume_mode.clone().unwrap_or_else(|| "Filesystem".to_owned());
    may_be_used(pod, listed, mode).map_err(unprocessed)?;
    if let Some(affinity) = &spec.node_affinity
        && !is_here(tools, affinity).await.map_err(|error| wrong(ClaimCause::Api(Box::new(error))))?
    {
        return Err(VolumeError::Elsewhere { volume });
    }
    let made = match (&spec.host_path, &spec.local, &spec.nfs) {
        (Some(source), ..) if local_path::is_ours(&found) => {
            Volume::Local { path: PathBuf::from(&source.path), make: true }
        }
        (Some(source), ..) => host(source),
        (_, Some(source), _) => Volume::Local { path: PathBuf::from(&source.path), make: false },
        (.., Some(source)) => Volume::Nfs(Nfs {
            server: source.server.clone(),
            path: source.path.clone(),
            read_only: source.read_only == Some(true) || read_only,
            options: spec.mount_options.clone().unwrap_or_default(),
        }),
        _ => {
            let cause = Cause::Unsupported("persistent volumes other than hostPath, local and nfs");
            return Err(unprocessed(cause));
        }
    };
    Ok(Claimed { name: volume, volume: made, read_only })
}

/// The name of the volume that the claim has.
fn bound(claim: &PersistentVolumeClaim) -> Result<String, ClaimCause> {
    let meta = &claim.metadata;
    let is_protected = meta.finalizers.iter().flatten().any(|finalizer| finalizer == PROTECTION);
    if meta.deletion_timestamp.is_some() && !is_protected {
        return Err(ClaimCause::Leaving);
    }
    if claim.status.as_ref().and_then(|status| status.phase.as_deref()) != Some("Bound") {
        return Err(ClaimCause::Unbound);
    }
    let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone());
    volume.filter(|name| !name.is_empty()).ok_or(ClaimCause::Nameless)
}

fn is_tied(volume: &PersistentVolume, name: &str, claim: &PersistentVolumeClaim) -> Result<(), ClaimCause> {
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    let reference = reference.ok_or_else(|| ClaimCause::Free(name.to_owned()))?;
    if reference.uid == claim.metadata.uid {
        return Ok(());
    }
    let uid = |uid: &Option<String>| uid.clone().unwrap_or_default();
    Err(ClaimCause::AnotherClaim(name.to_owned(), uid(&reference.uid), uid(&claim.metadata.uid)))
}

fn is_owned(claim: &PersistentVolumeClaim, pod: &Pod) -> bool {
    let owners = claim.metadata.owner_references.iter().flatten();
    owners
        .into_iter()
        .any(|owner| owner.controller == Some(true) && Some(&owner.uid) == pod.metadata.uid.as_ref())
}

/// Devices are not given out.
fn may_be_used(pod: &Pod, listed: &Listed, mode: String) -> Result<(), Cause> {
    let volume = listed.name.clone();
    match (uses::ways(pod, &listed.name), &*mode) {
        ((true, _), "Block") => Err(Cause::Mode { volume, mode, way: "volumeMounts" }),
        ((_, true), "Filesystem") => Err(Cause::Mode { volume, mode, way: "volumeDevices" }),
        (_, "Block") => Err(Cause::Block { volume }),
        _ => Ok(()),
    }
}

/// Whether this node is one from which the volume is reached.
async fn is_here(tools: &Tools, affinity: &VolumeNodeAffinity) -> Result<bool, kube::Error> {
    let Some(required) = &affinity.required else { return Ok(true) };
    let node = Objects::<Node>::all(&tools.client).get(&tools.place.node).await?;
    let labels = node.metadata.labels.unwrap_or_default();
    Ok(required.node_selector_terms.iter().any(|term| selects(term, &labels, &tools.place.node)))
}

/// A term without conditions selects nothing.
fn selects(term: &NodeSelectorTerm, labels: &BTreeMap<String, String>, node: &str) -> bool {
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let by_label =
        |wanted: &NodeSelectorRequirement| holds(wanted, labels.get(&wanted.key).map(String::as_str));
    let by_field =
        |wanted: &NodeSelectorRequirement| holds(wanted, (wanted.key == "metadata.name").then_some(node));
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(by_label)
        && fields.iter().all(by_field)
}

fn holds(wanted: &NodeSelectorRequirement, found: Option<&str>) -> bool {
    let values = wanted.values.as_deref().unwrap_or_default();
    let listed = found.is_some_and(|found| values.iter().any(|value| value == found));
    let number = |text: &str| text.parse::<i64>().ok();
    let numbers = || Some((number(found?)?, number(values.first()?)?));
    match &*wanted.operator {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => numbers().is_some_and(|(found, value)| found > value),
        "Lt" => numbers().is_some_and(|(found, value)| found < value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_claim_says_why_it_has_no_volume() {
        let claim = |meta: Value, spec: Value, phase: &str| {
            let status = json!({"phase": phase});
            serde_json::from_value(json!({"metadata": meta, "spec": spec, "status": status})).unwrap()
        };
        let leaving = json!({"deletionTimestamp": "2030-01-01T00:00:00Z"});
        let mut protected = leaving.clone();
        protected["finalizers"] = json!([PROTECTION]);
        let named = json!({"volumeName": "v"});
        for (claim, told) in [
            (claim(json!({}), json!({}), "Pending"), "PVC is not bound"),
            (claim(json!({}), json!({}), "Lost"), "PVC is not bound"),
            (claim(json!({}), json!({}), "Bound"), "PVC has empty pvc.Spec.VolumeName"),
            (claim(leaving, named.clone(), "Bound"), "PVC is being deleted"),
            (claim(protected, named.clone(), "Bound"), "v"),
            (claim(json!({}), named, "Bound"), "v"),
        ] {
            let claim: PersistentVolumeClaim = claim;
            assert_eq!(bound(&claim).unwrap_or_else(|cause| cause.to_string()), told);
        }
    }

    #[test]
    fn terms_select_nodes() {
        let labels =
            BTreeMap::from([("zone".to_owned(), "a".to_owned()), ("size".to_owned(), "7".to_owned())]);
        for (term, selected) in [
            (json!({}), false),
            (json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}), true),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}), false),
            (json!({"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]}), true),
            (json!({"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["6"]}]}), true),
            (json!({"matchExpressions": [{"key": "size", "operator": "Lt", "values": ["7"]}]}), false),
            (json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}), true),
            (json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}), false),
        ] {
            let parsed: NodeSelectorTerm = serde_json::from_value(term.clone()).unwrap();
            assert_eq!(selects(&parsed, &labels, "n"), selected, "{term}");
        }
    }

    #[test]
    fn devices_are_refused() {
        let pod: Pod = serde_json::from_value(json!({"spec": {"containers": [{"name": "c",
            "volumeMounts": [{"name": "m", "mountPath": "/m"}],
            "volumeDevices": [{"name": "d", "devicePath": "/dev/d"}]}]}}))
        .unwrap();
        for (name, mode, told) in [
            ("m", "Filesystem", ""),
            ("m", "Block", "volume m has volumeMode Block, but is specified in volumeMounts"),
            ("d", "Filesystem", "volume d has volumeMode Filesystem, but is specified in volumeDevices"),
            ("d", "Block", "volume d has volumeMode Block, which is not supported on this node"),
        ] {
            let listed = Listed { name: name.to_owned(), ..Listed::default() };
            let cause = may_be_used(&pod, &listed, mode.to_owned()).err();
            assert_eq!(cause.map(|cause| cause.to_string()).unwrap_or_default(), told);
        }
    }
}
