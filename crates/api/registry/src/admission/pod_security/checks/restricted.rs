//! What a pod has to do to be harmless even if its program is not: the checks that the restricted level adds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::baseline::{adding, profile_type, seccomp_19};
use super::{Pod, Violation, items, name, named, plural, quoted, set, setters, sorted, violation};

pub(super) fn escalation_on_linux(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_for_windows() { None } else { escalation(pod) }
}

pub(super) fn escalation(pod: &Pod<'_>) -> Option<Violation> {
    let containers = pod.containers_that(|container| {
        set(container, &["securityContext", "allowPrivilegeEscalation"]) != Some(&Value::Bool(false))
    });
    if containers.is_empty() {
        return None;
    }
    let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", named(&containers));
    violation("allowPrivilegeEscalation != false", detail)
}

pub(super) fn capabilities_on_linux(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_for_windows() { None } else { capabilities(pod) }
}

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    let keeping = pod.containers_that(|container| {
        let mut dropped = items(set(container, &["securityContext", "capabilities", "drop"]));
        !dropped.any(|capability| capability == "ALL")
    });
    let keeping = (!keeping.is_empty())
        .then(|| format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", named(&keeping)));
    let details: Vec<String> = [keeping, adding(pod, &["NET_BIND_SERVICE"])].into_iter().flatten().collect();
    if details.is_empty() { None } else { violation("unrestricted capabilities", details.join("; ")) }
}

const HARMLESS_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

const OTHER_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn volumes(pod: &Pod<'_>) -> Option<Violation> {
    let (mut volumes, mut types) = (Vec::new(), BTreeSet::new());
    for volume in pod.list("volumes") {
        let has = |source: &&&str| set(volume, &[source]).is_some();
        if HARMLESS_VOLUMES.iter().find(has).is_none() {
            volumes.push(name(volume));
            types.insert(OTHER_VOLUMES.iter().find(has).copied().unwrap_or("unknown"));
        }
    }
    if volumes.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {} {}",
        plural("volume", "volumes", volumes.len()),
        quoted(volumes.iter().copied()),
        plural("uses", "use", volumes.len()),
        plural("restricted volume type", "restricted volume types", types.len()),
        sorted(&types)
    );
    violation("restricted volume types", detail)
}

pub(super) fn non_root_of_host_users(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() { None } else { non_root(pod) }
}

pub(super) fn non_root(pod: &Pod<'_>) -> Option<Violation> {
    let said = |owner: &Value| set(owner, &["securityContext", "runAsNonRoot"]).and_then(Value::as_bool);
    let of_pod = said(pod.spec);
    let refusing = pod.containers_that(|container| said(container) == Some(false));
    if let Some(who) = setters(of_pod == Some(false), &refusing) {
        let detail = format!("{who} must not set securityContext.runAsNonRoot=false");
        return violation("runAsNonRoot != true", detail);
    }
    let silent = pod.containers_that(|container| said(container).is_none() && of_pod != Some(true));
    if silent.is_empty() {
        return None;
    }
    let detail = format!("pod or {} must set securityContext.runAsNonRoot=true", named(&silent));
    violation("runAsNonRoot != true", detail)
}

pub(super) fn user_of_host_users(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() { None } else { user(pod) }
}

pub(super) fn user(pod: &Pod<'_>) -> Option<Violation> {
    let (who, _) = pod.setting(|owner| {
        set(owner, &["securityContext", "runAsUser"]).and_then(Value::as_i64).filter(|user| *user == 0)
    });
    violation("runAsUser=0", format!("{} must not set runAsUser=0", who?))
}

pub(super) fn seccomp_on_linux(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_for_windows() { None } else { seccomp(pod) }
}

pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    if let Some(bad) = seccomp_19(pod) {
        return Some(bad);
    }
    let of_pod = profile_type(pod.spec, "seccompProfile").is_some();
    let silent =
        pod.containers_that(|container| !of_pod && profile_type(container, "seccompProfile").is_none());
    if silent.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        named(&silent)
    );
    violation("seccompProfile", detail)
}
