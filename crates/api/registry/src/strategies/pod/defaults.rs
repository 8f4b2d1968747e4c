//! What a pod's spec gets where the user said nothing: for pods and for the templates of all workloads.
//! Values follow Kubernetes v1.36. Refuses nothing.

use serde_json::{Map, Value};

use crate::strategies::amounts;
use crate::strategies::fields::{
    at, each, fill, fill_number, fill_text, flag, list, map, number, open, put, text,
};

/// The part that pods and templates share. Runs on every write of a workload, so it must leave filled fields alone.
pub(in crate::strategies) fn spec(spec: &mut Value) {
    fill_text(spec, "dnsPolicy", "ClusterFirst");
    fill_text(spec, "restartPolicy", "Always");
    fill(spec, "securityContext", Map::new());
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill_text(spec, "schedulerName", "default-scheduler");
    service_account(spec);
    each(spec, "volumes").for_each(volume);
    for containers in ["initContainers", "containers", "ephemeralContainers"] {
        each(spec, containers).for_each(container);
    }
}

/// The template of a workload: `spec.template`.
pub(in crate::strategies) fn template(of: &mut Value) {
    let Some(template) = open(of, "template") else { return };
    fill(template, "metadata", Map::new());
    if let Some(inner) = open(template, "spec") {
        if !at(inner, "containers").is_array() {
            put(inner, "containers", Value::Null);
        }
        spec(inner);
    }
}

/// What only a pod gets, not a template: defaults that depend on its whole.
pub(super) fn pod(pod: &mut Value) {
    let Some(inner) = open(pod, "spec") else { return };
    spec(inner);
    let host_network = flag(inner, "hostNetwork");
    for containers in ["containers", "initContainers"] {
        for container in each(inner, containers) {
            requests_from_limits(container);
            if host_network {
                host_ports(container);
            }
        }
    }
    fill(inner, "enableServiceLinks", true);
}

/// The old and the new name of the same field are both shown; the new one wins.
fn service_account(spec: &mut Value) {
    let name = text(spec, "serviceAccountName");
    let name = if name.is_empty() { text(spec, "serviceAccount") } else { name };
    if !name.is_empty() && text(spec, "serviceAccount") != text(spec, "serviceAccountName") {
        let name = name.to_owned();
        put(spec, "serviceAccount", name.as_str());
        put(spec, "serviceAccountName", name);
    }
}

fn container(container: &mut Value) {
    if text(container, "imagePullPolicy").is_empty() {
        let policy = pull_policy(text(container, "image"));
        put(container, "imagePullPolicy", policy);
    }
    fill_text(container, "terminationMessagePath", "/dev/termination-log");
    fill_text(container, "terminationMessagePolicy", "File");
    if let Some(resources) = open(container, "resources") {
        amounts::round(resources, "limits");
        amounts::round(resources, "requests");
    }
    each(container, "ports").for_each(|port| fill_text(port, "protocol", "TCP"));
    for variable in each(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom") {
            field_ref(source);
            file_key(source);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(found) = container.get_mut(name) {
            probe(found);
        }
    }
    if let Some(lifecycle) = container.get_mut("lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.get_mut(name) {
                http_get(handler);
            }
        }
    }
}

fn probe(probe: &mut Value) {
    fill_number(probe, "timeoutSeconds", 1);
    fill_number(probe, "periodSeconds", 10);
    fill_number(probe, "successThreshold", 1);
    fill_number(probe, "failureThreshold", 3);
    http_get(probe);
    if let Some(grpc) = probe.get_mut("grpc") {
        fill(grpc, "service", "");
    }
}

fn http_get(handler: &mut Value) {
    if let Some(get) = handler.get_mut("httpGet") {
        fill_text(get, "path", "/");
        fill_text(get, "scheme", "HTTP");
    }
}

fn field_ref(source: &mut Value) {
    if let Some(field) = source.get_mut("fieldRef") {
        fill_text(field, "apiVersion", "v1");
    }
}

fn file_key(source: &mut Value) {
    if let Some(key) = source.get_mut("fileKeyRef") {
        fill(key, "optional", false);
    }
}

/// An untagged image moves under its name, so it is pulled every time; a tag or digest stays what it was.
fn pull_policy(image: &str) -> &'static str {
    if image.contains('@') {
        // A name with both keeps its tag: `nginx:latest@sha256:…` still counts as latest.
        let name = image.split('@').next().unwrap_or(image);
        return if tag(name) == Some("latest") { "Always" } else { "IfNotPresent" };
    }
    match tag(image) {
        None | Some("latest") => "Always",
        Some(_) => "IfNotPresent",
    }
}

fn tag(image: &str) -> Option<&str> {
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').map(|(_, tag)| tag)
}

fn host_ports(container: &mut Value) {
    for port in each(container, "ports") {
        let inside = number(port, "containerPort");
        if inside != 0 {
            fill_number(port, "hostPort", inside);
        }
    }
}

/// A limit without a request asks for as much.
fn requests_from_limits(container: &mut Value) {
    let Some(resources) = container.get_mut("resources") else { return };
    if map(resources, "limits").is_empty() {
        return;
    }
    let missing: Vec<(String, Value)> = map(resources, "limits")
        .iter()
        .filter(|(name, _)| !map(resources, "requests").contains_key(*name))
        .map(|(name, amount)| (name.clone(), amount.clone()))
        .collect();
    let Some(Value::Object(requests)) = open(resources, "requests") else { return };
    requests.extend(missing);
}

/// Names of the fields of a volume that say what it is made of; exactly one is to be there.
pub(super) const VOLUME_SOURCES: [&str; 30] = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
];

const READABLE_BY_ALL: i64 = 0o644;

fn volume(volume: &mut Value) {
    let Value::Object(fields) = &*volume else { return };
    if !fields.keys().any(|field| VOLUME_SOURCES.contains(&field.as_str())) {
        put(volume, "emptyDir", Map::new());
        return;
    }
    let Value::Object(sources) = volume else { return };
    for (name, source) in sources {
        match name.as_str() {
            "secret" | "configMap" => fill(source, "defaultMode", READABLE_BY_ALL),
            "downwardAPI" => {
                fill(source, "defaultMode", READABLE_BY_ALL);
                each(source, "items").for_each(field_ref);
            }
            "projected" => projected(source),
            "hostPath" => fill(source, "type", ""),
            "ephemeral" => ephemeral(source),
            "image" if text(source, "pullPolicy").is_empty() => {
                let policy = pull_policy(text(source, "reference"));
                put(source, "pullPolicy", policy);
            }
            _ => network_disk(name, source),
        }
    }
}

fn projected(source: &mut Value) {
    fill(source, "defaultMode", READABLE_BY_ALL);
    if list(source, "sources").is_empty() {
        return;
    }
    for part in each(source, "sources") {
        if let Some(token) = part.get_mut("serviceAccountToken") {
            fill(token, "expirationSeconds", 3600);
        }
        if let Some(down) = part.get_mut("downwardAPI") {
            each(down, "items").for_each(field_ref);
        }
    }
}

fn ephemeral(source: &mut Value) {
    if let Some(template) = source.get_mut("volumeClaimTemplate") {
        fill(template, "metadata", Map::new());
        if let Some(spec) = open(template, "spec") {
            claim_spec(spec);
        }
    }
}

/// A claim's spec: also of the templates that stateful sets and ephemeral volumes make claims from.
pub(in crate::strategies) fn claim_spec(spec: &mut Value) {
    fill(spec, "volumeMode", "Filesystem");
    fill(spec, "resources", Map::new());
}

/// Disks that are the same in pods and in PersistentVolumes.
pub(in crate::strategies) fn network_disk(name: &str, source: &mut Value) {
    match name {
        "iscsi" => fill_text(source, "iscsiInterface", "default"),
        "rbd" => {
            fill_text(source, "pool", "rbd");
            fill_text(source, "user", "admin");
            fill_text(source, "keyring", "/etc/ceph/keyring");
        }
        "azureDisk" => {
            fill(source, "cachingMode", "ReadWrite");
            fill(source, "kind", "Shared");
            fill(source, "fsType", "ext4");
            fill(source, "readOnly", false);
        }
        "scaleIO" => {
            fill_text(source, "storageMode", "ThinProvisioned");
            fill_text(source, "fsType", "xfs");
        }
        _ => {}
    }
}
