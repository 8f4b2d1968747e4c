//! What a container that is made for looking may do, under the names that kubectl gives to such bundles. Pure.

use serde_json::{Value, json};

use crate::change::object_at;
use crate::error::CliError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Profile {
    Legacy,
    General,
    Baseline,
    Restricted,
    Netadmin,
    Sysadmin,
}

/// Where the container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Pod,
    Copy,
    Node,
}

/// What a copy keeps of its pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep {
    pub(super) labels: bool,
    pub(super) annotations: bool,
    pub(super) liveness: bool,
    pub(super) readiness: bool,
    pub(super) startup: bool,
    pub(super) init_containers: bool,
}

impl Profile {
    pub(super) fn parse(name: &str) -> Result<Self, CliError> {
        Ok(match name {
            "legacy" => Self::Legacy,
            "general" => Self::General,
            "baseline" => Self::Baseline,
            "restricted" => Self::Restricted,
            "netadmin" => Self::Netadmin,
            "sysadmin" => Self::Sysadmin,
            other => {
                return Err(CliError::usage(format!(
                    "unknown profile: {other}\nThere are general, baseline, restricted, netadmin and sysadmin"
                )));
            }
        })
    }

    pub(super) fn rights(self, container: &mut Value, place: Place) {
        match (self, place) {
            (Self::Legacy, _) => {}
            (Self::General, Place::Pod | Place::Copy) => add(container, &["SYS_PTRACE"]),
            (Self::General, Place::Node) | (Self::Baseline, _) => remove(container, "securityContext"),
            (Self::Restricted, _) => {
                container["securityContext"] = json!({
                    "runAsNonRoot": true,
                    "capabilities": {"drop": ["ALL"]},
                    "allowPrivilegeEscalation": false,
                    "seccompProfile": {"type": "RuntimeDefault"},
                });
            }
            (Self::Netadmin, _) => add(container, &["NET_ADMIN", "NET_RAW"]),
            (Self::Sysadmin, _) => object_at(container, "securityContext")["privileged"] = true.into(),
        }
    }

    /// What a pod on a node sees of it.
    pub(super) fn on_node(self, pod: &mut Value) {
        let spec = &mut pod["spec"];
        if matches!(self, Self::Legacy | Self::General | Self::Sysadmin) {
            spec["volumes"] = json!([{"name": "host-root", "hostPath": {"path": "/"}}]);
            spec["containers"][0]["volumeMounts"] = json!([{"name": "host-root", "mountPath": "/host"}]);
        }
        if matches!(self, Self::Legacy | Self::General | Self::Sysadmin | Self::Netadmin) {
            for namespace in ["hostNetwork", "hostPID", "hostIPC"] {
                spec[namespace] = true.into();
            }
        }
    }

    /// What others would take the copy for goes, and what would end it while it is looked at.
    pub(super) fn in_copy(self, pod: &mut Value, keep: &Keep) {
        if self == Self::Legacy {
            return remove(&mut pod["metadata"], "labels");
        }
        for (kept, key) in [(keep.labels, "labels"), (keep.annotations, "annotations")] {
            if !kept {
                remove(&mut pod["metadata"], key);
            }
        }
        let probes = [
            (keep.liveness, "livenessProbe"),
            (keep.readiness, "readinessProbe"),
            (keep.startup, "startupProbe"),
        ];
        let containers = pod["spec"]["containers"].as_array_mut().into_iter().flatten();
        for container in containers {
            for (_, probe) in probes.iter().filter(|(kept, _)| !kept) {
                remove(container, probe);
            }
        }
        if !keep.init_containers {
            remove(&mut pod["spec"], "initContainers");
        }
        if pod["spec"]["shareProcessNamespace"].is_null() {
            pod["spec"]["shareProcessNamespace"] = true.into();
        }
    }
}

fn add(container: &mut Value, rights: &[&str]) {
    let capabilities = object_at(object_at(container, "securityContext"), "capabilities");
    let mut all = capabilities["add"].as_array().cloned().unwrap_or_default();
    all.extend(rights.iter().map(|right| Value::from(*right)));
    capabilities["add"] = all.into();
}

fn remove(value: &mut Value, key: &str) {
    if let Some(map) = value.as_object_mut() {
        map.remove(key);
    }
}
