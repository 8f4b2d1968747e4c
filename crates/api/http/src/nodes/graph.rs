//! Which node needs which objects: pods name what they use, claims lead to volumes, volumes to their secrets.
//! Kept by events, pure otherwise.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::follower::Follows;

pub(super) const PREFIXES: [&str; 4] = [
    "/registry/pods/",
    "/registry/persistentvolumes/",
    "/registry/volumeattachments/",
    "/registry/resourceslices/",
];
const PODS: usize = 0;
const VOLUMES: usize = 1;
const ATTACHMENTS: usize = 2;

const MIRROR: &str = "kubernetes.io/config.mirror";
const HOLDER: &str = "kedge.dev/node";

/// What a pod can need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Thing {
    Secret,
    ConfigMap,
    Claim,
    Account,
    ResourceClaim,
}

/// By `namespace/name`.
type Needed = (Thing, String);

#[derive(Default)]
pub(super) struct Graph {
    /// By `namespace/name`.
    pods: HashMap<Arc<str>, Pod>,
    /// How many pods of each node need a thing.
    users: HashMap<Needed, HashMap<Arc<str>, usize>>,
    volumes: HashMap<Arc<str>, Volume>,
    /// The volumes that need a secret.
    secrets: HashMap<String, HashSet<Arc<str>>>,
    attachments: HashMap<Arc<str>, String>,
    slices: HashMap<Arc<str>, String>,
}

struct Pod {
    node: Arc<str>,
    needs: Vec<Needed>,
}

#[derive(Default)]
struct Volume {
    /// `namespace/name` of the claim that has it.
    claim: String,
    secrets: Vec<String>,
    /// The node on whose disk it lies.
    holder: String,
}

impl Follows for Graph {
    /// Bytes that cannot be read lead nowhere.
    fn put(&mut self, source: usize, key: &str, bytes: &[u8]) {
        self.remove(source, key);
        let object: Value = serde_json::from_slice(bytes).unwrap_or_default();
        match source {
            PODS => self.put_pod(key, &object),
            VOLUMES => self.put_volume(key, &object),
            ATTACHMENTS => drop(self.attachments.insert(key.into(), text(&object["spec"]["nodeName"]))),
            _ => drop(self.slices.insert(key.into(), text(&object["spec"]["nodeName"]))),
        }
    }

    fn remove(&mut self, source: usize, key: &str) {
        match source {
            PODS => self.remove_pod(key),
            VOLUMES => {
                for secret in self.volumes.remove(key).unwrap_or_default().secrets {
                    if let Some(volumes) = self.secrets.get_mut(&secret) {
                        volumes.remove(key);
                        if volumes.is_empty() {
                            self.secrets.remove(&secret);
                        }
                    }
                }
            }
            ATTACHMENTS => drop(self.attachments.remove(key)),
            _ => drop(self.slices.remove(key)),
        }
    }
}

impl Graph {
    pub(super) fn pod_is_on(&self, pod: &str, node: &str) -> bool {
        self.pods.get(pod).is_some_and(|pod| &*pod.node == node)
    }

    pub(super) fn attachment_is_of(&self, name: &str, node: &str) -> bool {
        self.attachments.get(name).is_some_and(|of| of == node)
    }

    pub(super) fn slice_is_of(&self, name: &str, node: &str) -> bool {
        self.slices.get(name).is_some_and(|of| of == node)
    }

    pub(super) fn volume_is_used(&self, name: &str, node: &str) -> bool {
        let volume = self.volumes.get(name).filter(|volume| !volume.claim.is_empty());
        volume.is_some_and(|volume| self.is_used(Thing::Claim, &volume.claim, node))
    }

    pub(super) fn volume_lies_on(&self, name: &str, node: &str) -> bool {
        self.volumes.get(name).is_some_and(|volume| volume.holder == node)
    }

    /// Whether some pod of the node needs the thing, directly or through its volumes.
    pub(super) fn is_used(&self, thing: Thing, key: &str, node: &str) -> bool {
        let users = self.users.get(&(thing, key.to_owned()));
        if users.is_some_and(|nodes| nodes.contains_key(node)) {
            return true;
        }
        let volumes = self.secrets.get(key).filter(|_| thing == Thing::Secret);
        volumes.into_iter().flatten().any(|volume| self.volume_is_used(volume, node))
    }

    fn put_pod(&mut self, key: &str, pod: &Value) {
        let node = text(&pod["spec"]["nodeName"]);
        if node.is_empty() {
            return;
        }
        let node: Arc<str> = node.into();
        // A node makes its mirror pods itself: what they name must not open anything to it.
        let mirrors = pod["metadata"]["annotations"].get(MIRROR).is_some();
        let needs = if mirrors { Vec::new() } else { needs(key, pod) };
        for need in &needs {
            *self.users.entry(need.clone()).or_default().entry(node.clone()).or_default() += 1;
        }
        self.pods.insert(key.into(), Pod { node, needs });
    }

    fn remove_pod(&mut self, key: &str) {
        let Some(pod) = self.pods.remove(key) else { return };
        for need in pod.needs {
            let Some(nodes) = self.users.get_mut(&need) else { continue };
            if let Some(count) = nodes.get_mut(&pod.node) {
                *count -= 1;
                if *count == 0 {
                    nodes.remove(&pod.node);
                }
            }
            if nodes.is_empty() {
                self.users.remove(&need);
            }
        }
    }

    fn put_volume(&mut self, key: &str, volume: &Value) {
        let spec = &volume["spec"];
        let claim = &spec["claimRef"];
        let (namespace, name) = (text(&claim["namespace"]), text(&claim["name"]));
        let claim = if name.is_empty() { String::new() } else { format!("{namespace}/{name}") };
        let mut secrets = Vec::new();
        references(spec, &mut |field, reference| {
            if !field.ends_with("SecretRef") && field != "secretRef" {
                return;
            }
            let own = text(&reference["namespace"]);
            let (namespace, name) =
                (if own.is_empty() { &namespace } else { &own }, text(&reference["name"]));
            secrets.push(format!("{namespace}/{name}"));
        });
        if let Some(file) = spec.get("azureFile") {
            let own = text(&file["secretNamespace"]);
            let namespace = if own.is_empty() { &namespace } else { &own };
            secrets.push(format!("{namespace}/{}", text(&file["secretName"])));
        }
        let key: Arc<str> = key.into();
        for secret in &secrets {
            self.secrets.entry(secret.clone()).or_default().insert(key.clone());
        }
        let holder = text(&volume["metadata"]["annotations"][HOLDER]);
        self.volumes.insert(key, Volume { claim, secrets, holder });
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

/// Everything that a pod names.
fn needs(key: &str, pod: &Value) -> Vec<Needed> {
    let (namespace, pod_name) = key.split_once('/').unwrap_or(("", key));
    let spec = &pod["spec"];
    let mut needs: HashSet<Needed> = HashSet::new();
    let mut add = |thing: Thing, name: &Value| {
        if let Some(name) = name.as_str().filter(|name| !name.is_empty()) {
            needs.insert((thing, format!("{namespace}/{name}")));
        }
    };
    add(Thing::Account, &spec["serviceAccountName"]);
    for one in list(&spec["imagePullSecrets"]) {
        add(Thing::Secret, &one["name"]);
    }
    for volume in list(&spec["volumes"]) {
        add(Thing::Secret, &volume["secret"]["secretName"]);
        add(Thing::Secret, &volume["azureFile"]["secretName"]);
        add(Thing::ConfigMap, &volume["configMap"]["name"]);
        add(Thing::Claim, &volume["persistentVolumeClaim"]["claimName"]);
        if volume.get("ephemeral").is_some() {
            let claim = format!("{pod_name}-{}", text(&volume["name"]));
            add(Thing::Claim, &claim.into());
        }
        for source in list(&volume["projected"]["sources"]) {
            add(Thing::Secret, &source["secret"]["name"]);
            add(Thing::ConfigMap, &source["configMap"]["name"]);
        }
    }
    references(spec, &mut |field, reference| match field {
        "secretRef" | "secretKeyRef" | "nodePublishSecretRef" => add(Thing::Secret, &reference["name"]),
        "configMapRef" | "configMapKeyRef" => add(Thing::ConfigMap, &reference["name"]),
        _ => {}
    });
    for claim in list(&spec["resourceClaims"]) {
        add(Thing::ResourceClaim, &claim["resourceClaimName"]);
    }
    for claim in list(&pod["status"]["resourceClaimStatuses"]) {
        add(Thing::ResourceClaim, &claim["resourceClaimName"]);
    }
    add(Thing::ResourceClaim, &pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"]);
    needs.into_iter().collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Every field whose name ends with `Ref`, at whatever depth: each way to name a secret or a map has one.
fn references<'v>(value: &'v Value, found: &mut impl FnMut(&'v str, &'v Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(fields) => {
            for (field, value) in fields {
                if field.ends_with("Ref") && value.is_object() {
                    found(field, value);
                } else {
                    references(value, found);
                }
            }
        }
        _ => {}
    }
}
