//! Nodes change themselves and the pods on them, and nothing else, whatever their roles say.

use kedge_kinds::{Kind, Status};
use serde_json::Value;

use super::{Operation, Plugin, View};
use crate::object;
use crate::request::User;

const MIRROR: &str = "kubernetes.io/config.mirror";
const LEASES: &str = "kube-node-lease";
/// The labels of Kubernetes' own domains that a node may give itself.
const LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

pub(super) struct NodeRestriction;

/// The name of the node that this user is; `None` for everybody else.
fn node_of(user: &User) -> Option<&str> {
    let name = user.name.strip_prefix("system:node:")?;
    user.groups.iter().any(|group| group == "system:nodes").then_some(name)
}

impl Plugin for NodeRestriction {
    fn concerns(&self, view: &View<'_>) -> bool {
        node_of(&view.options.user).is_some()
    }

    fn mutate(
        &self,
        view: &View<'_>,
        object: &mut Value,
        old: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        check(view, Some(object), old)
    }

    fn delete(&self, view: &View<'_>, old: &Value) -> Result<(), Status> {
        check(view, None, Some(old))
    }
}

/// Whether the user may evict this pod.
pub(crate) fn evict(kind: &Kind, name: &str, pod: &Value, user: &User) -> Result<(), Status> {
    let Some(node) = node_of(user).filter(|node| !runs_on(pod, node)) else { return Ok(()) };
    let why = format!("node {node} can only evict pods with spec.nodeName set to itself");
    Err(Status::forbidden(kind, name, &why))
}

fn check(view: &View<'_>, new: Option<&Value>, old: Option<&Value>) -> Result<(), Status> {
    let Some(node) = node_of(&view.options.user) else { return Ok(()) };
    let kind = &view.at.kind;
    let sent = new.or(old).map_or("", |object| object::meta_text(object, "name"));
    let name = view.at.name.as_deref().unwrap_or(sent);
    let why = if node.is_empty() {
        Some(format!("could not determine node from user {:?}", view.options.user.name))
    } else {
        refusal(view, kind, node, name, new, old)?
    };
    why.map_or(Ok(()), |why| Err(Status::forbidden(kind, name, &why)))
}

fn refusal(
    view: &View<'_>,
    kind: &Kind,
    node: &str,
    name: &str,
    new: Option<&Value>,
    old: Option<&Value>,
) -> Result<Option<String>, Status> {
    let part = view.at.subresource.as_deref().unwrap_or("");
    Ok(match (&*kind.gv.group, &*kind.plural, part) {
        ("", "pods", "") => match (view.operation, new, old) {
            (Operation::Create, Some(pod), _) => mirror(view, node, pod)?,
            (Operation::Delete, _, Some(pod)) => (!runs_on(pod, node))
                .then(|| format!("node {node:?} can only delete pods with spec.nodeName set to itself")),
            _ => Some(format!(
                "unexpected operation \"UPDATE\", node {node:?} can only create and delete mirror pods"
            )),
        },
        ("", "pods", "status") => pod_status(node, new, old),
        // Asked by `evict`, which knows the pod.
        ("", "pods", "eviction") => None,
        ("", "pods", other) => {
            Some(format!("unexpected pod subresource {other:?}, only 'status' and 'eviction' are allowed"))
        }
        ("", "nodes", _) if name != node => {
            Some(format!("node {node:?} is not allowed to modify node {name:?}"))
        }
        ("", "nodes", _) => own(view.operation, node, new, old),
        ("", "persistentvolumeclaims", "status") => claim_status(node, new, old),
        ("", "persistentvolumeclaims", _) => Some("may only update PVC status".to_owned()),
        ("coordination.k8s.io", "leases", _) => match view.at.namespace.as_deref() {
            Some(LEASES) if name == node => None,
            Some(LEASES) => {
                Some("can only access node lease with the same name as the requesting node".to_owned())
            }
            _ => Some(format!("can only access leases in the {LEASES:?} system namespace")),
        },
        ("storage.k8s.io", "csinodes", _) if name != node => {
            Some("can only access CSINode with the same name as the requesting node".to_owned())
        }
        ("resource.k8s.io", "resourceslices", _) => {
            let is_own = |slice: &Value| runs_on(slice, node);
            match (view.operation, new, old) {
                (Operation::Create, Some(slice), _) if !is_own(slice) => Some(
                    "can only create ResourceSlice with the same NodeName as the requesting node".to_owned(),
                ),
                (Operation::Delete, _, Some(slice)) if !is_own(slice) => Some(
                    "can only delete ResourceSlice with the same NodeName as the requesting node".to_owned(),
                ),
                _ => None,
            }
        }
        _ => None,
    })
}

fn runs_on(object: &Value, node: &str) -> bool {
    object::text(object, &["spec", "nodeName"]) == node
}

/// Of the pods that it runs without having been told, a node shows a mirror. It names nothing that could be asked for.
fn mirror(view: &View<'_>, node: &str, pod: &Value) -> Result<Option<String>, Status> {
    let annotated = object::meta(pod, "annotations").is_some_and(|all| all.get(MIRROR).is_some());
    if !annotated {
        return Ok(Some(format!(
            "pod does not have {MIRROR:?} annotation, node {node:?} can only create mirror pods"
        )));
    }
    if !runs_on(pod, node) {
        return Ok(Some(format!("node {node:?} can only create pods with spec.nodeName set to itself")));
    }
    let owners = object::meta(pod, "ownerReferences").and_then(Value::as_array);
    let owner = match owners.map(Vec::as_slice) {
        Some([owner]) => owner,
        None | Some([]) => {
            return Ok(Some(format!(
                "node {node:?} can only create pods with an owner reference set to itself"
            )));
        }
        Some(_) => {
            return Ok(Some(format!(
                "node {node:?} can only create pods with a single owner reference set to itself"
            )));
        }
    };
    let field = |field: &str| object::text(owner, &[field]);
    if (field("apiVersion"), field("kind"), field("name")) != ("v1", "Node", node) {
        return Ok(Some(format!("node {node:?} can only create pods with an owner reference set to itself")));
    }
    if owner.get("controller") != Some(&Value::Bool(true)) {
        return Ok(Some(format!(
            "node {node:?} can only create pods with a controller owner reference set to itself"
        )));
    }
    if owner.get("blockOwnerDeletion") == Some(&Value::Bool(true)) {
        return Ok(Some(format!("node {node:?} must not set blockOwnerDeletion on an owner reference")));
    }
    let Some(live) = view.other("nodes", node)? else {
        return Ok(Some(format!("node {node:?} not found")));
    };
    let (wanted, found) = (field("uid"), object::meta_text(&live, "uid"));
    if wanted != found {
        return Ok(Some(format!("node {node} UID mismatch: expected {wanted} got {found}")));
    }
    Ok(named(pod).map(|what| format!("node {node:?} can not create pods that reference {what}")))
}

/// The first kind of API object that the pod names.
fn named(pod: &Value) -> Option<&'static str> {
    let spec = pod.get("spec")?;
    if !object::text(spec, &["serviceAccountName"]).is_empty() {
        return Some("serviceaccounts");
    }
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    if !list(spec.get("imagePullSecrets")).is_empty() || mentions(spec, &["secretRef", "secretKeyRef"]) {
        return Some("secrets");
    }
    if mentions(spec, &["configMapRef", "configMapKeyRef"]) {
        return Some("configmaps");
    }
    if !list(spec.get("resourceClaims")).is_empty() {
        return Some("resourceclaims");
    }
    list(spec.get("volumes")).iter().find_map(|volume| {
        for (source, what) in [
            ("configMap", "configmaps (via configmap volumes)"),
            ("secret", "secrets (via secret volumes)"),
            ("csi", "csidrivers (via CSI volumes)"),
            ("glusterfs", "endpoints (via glusterFS volumes)"),
            ("persistentVolumeClaim", "persistentvolumeclaims"),
            ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
            ("azureFile", "secrets (via azureFile volumes)"),
        ] {
            if volume.get(source).is_some() {
                return Some(what);
            }
        }
        list(volume.get("projected").and_then(|all| all.get("sources"))).iter().find_map(|source| {
            [
                ("configMap", "configmaps (via projected volumes)"),
                ("secret", "secrets (via projected volumes)"),
                ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
                ("clusterTrustBundle", "clustertrustbundles"),
                ("podCertificate", "podcertificates"),
            ]
            .into_iter()
            .find_map(|(kind, what)| source.get(kind).map(|_| what))
        })
    })
}

fn mentions(value: &Value, fields: &[&str]) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| mentions(item, fields)),
        Value::Object(map) => {
            map.iter().any(|(field, value)| fields.contains(&field.as_str()) || mentions(value, fields))
        }
        _ => false,
    }
}

fn pod_status(node: &str, new: Option<&Value>, old: Option<&Value>) -> Option<String> {
    let (new, old) = (new?, old?);
    if !runs_on(old, node) {
        return Some(format!(
            "node {node:?} can only update pod status for pods with spec.nodeName set to itself"
        ));
    }
    let empty =
        |value: Option<&Value>| value.is_none_or(|all| all.as_object().is_none_or(|all| all.is_empty()));
    let (before, after) = (object::meta(old, "labels"), object::meta(new, "labels"));
    if before != after && !(empty(before) && empty(after)) {
        return Some(format!("node {node:?} cannot update labels through pod status"));
    }
    let differs = |field: &str| object::at(new, &["status", field]) != object::at(old, &["status", field]);
    if differs("resourceClaimStatuses") {
        return Some(format!("node {node:?} cannot update resource claim statues"));
    }
    if differs("extendedResourceClaimStatus") {
        return Some(format!("node {node:?} cannot update extended resource claim status"));
    }
    None
}

fn claim_status(node: &str, new: Option<&Value>, old: Option<&Value>) -> Option<String> {
    let stripped = |object: &Value| {
        let mut object = object.clone();
        for field in ["resourceVersion", "managedFields"] {
            object::meta_mut(&mut object).remove(field);
        }
        let status = object::map_mut(&mut object, "status");
        for field in ["capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"] {
            status.remove(field);
        }
        object
    };
    (stripped(new?) != stripped(old?)).then(|| {
        format!(
            "node {node:?} is not allowed to update fields other than status.quantity and status.conditions"
        )
    })
}

fn own(operation: Operation, node: &str, new: Option<&Value>, old: Option<&Value>) -> Option<String> {
    let new = new?;
    let source = |object| object::at(object, &["spec", "configSource"]).filter(|one| !one.is_null());
    if operation == Operation::Create {
        if source(new).is_some() {
            return Some(format!("node {node:?} is not allowed to create pods with a non-nil configSource"));
        }
        let labels = forbidden_labels(new, None);
        return (!labels.is_empty()).then(|| {
            format!("node {node:?} is not allowed to set the following labels: {}", labels.join(", "))
        });
    }
    let old = old?;
    if source(new).is_some() && source(new) != source(old) {
        return Some(format!(
            "node {node:?} is not allowed to update configSource to a new non-nil configSource"
        ));
    }
    let list = |object, path: &[&str]| {
        object::at(object, path).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    if list(new, &["spec", "taints"]) != list(old, &["spec", "taints"]) {
        return Some(format!("node {node:?} is not allowed to modify taints"));
    }
    let owners = &["metadata", "ownerReferences"];
    if list(new, owners) != list(old, owners) {
        return Some(format!("node {node:?} is not allowed to modify ownerReferences"));
    }
    let labels = forbidden_labels(new, Some(old));
    (!labels.is_empty()).then(|| format!("is not allowed to modify labels: {}", labels.join(", ")))
}

/// Labels that differ and are not the node's to set, sorted.
fn forbidden_labels(new: &Value, old: Option<&Value>) -> Vec<String> {
    let labels =
        |object| object::meta(object, "labels").and_then(Value::as_object).cloned().unwrap_or_default();
    let (new, old) = (labels(new), old.map(labels).unwrap_or_default());
    let mut changed: Vec<String> =
        new.keys().chain(old.keys()).filter(|key| new.get(*key) != old.get(*key)).cloned().collect();
    changed.retain(|key| {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let within = |of: &str| domain == of || domain.ends_with(&format!(".{of}"));
        let kubernetes = within("kubernetes.io") || within("k8s.io");
        let free =
            LABELS.contains(&key.as_str()) || within("kubelet.kubernetes.io") || within("node.kubernetes.io");
        within("node-restriction.kubernetes.io") || (kubernetes && !free)
    });
    changed.sort();
    changed.dedup();
    changed
}
