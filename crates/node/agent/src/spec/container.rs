//! One container of a pod as the runtime makes it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, Pod};
use kedge_runtime::wire::{
    ContainerConfig, ContainerMetadata, ImageSpec, KeyValue, LinuxContainerConfig, LinuxContainerResources,
    Mount,
};

use crate::cpus::CpuSet;
use crate::spec::expand::expand;
use crate::spec::resources::{self, Machine};
use crate::spec::sandbox::{POD_NAME, POD_NAMESPACE, POD_UID};
use crate::spec::security::{self, ImageUser, SecurityError};
use crate::users::Users;

pub(crate) const CONTAINER_NAME: &str = "io.kubernetes.container.name";
pub(crate) const HASH: &str = "io.kubernetes.container.hash";
/// Where a container's last words are looked for besides in their file.
pub(crate) const LAST_WORDS_BY: &str = "io.kubernetes.container.terminationMessagePolicy";
pub(crate) const BY_LOG: &str = "FallbackToLogsOnError";
pub(crate) const RESTARTS: &str = "io.kubernetes.container.restartCount";

/// Everything about a container that had to be looked up.
pub(crate) struct Found {
    /// What the runtime calls the image.
    pub(crate) image: String,
    pub(crate) user: ImageUser,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) mounts: Vec<Mount>,
    /// How often it was made before.
    pub(crate) attempt: u32,
    /// The container whose processes a debugging one wants to see.
    pub(crate) target: Option<String>,
    pub(crate) machine: Arc<Machine>,
    /// The CPUs that it is bound to, where it is.
    pub(crate) cpus: Option<CpuSet>,
    /// Which of the node's users stand for the pod's, where those are not the node's.
    pub(crate) users: Option<Users>,
}

pub(crate) fn config(
    pod: &Pod,
    container: &Container,
    found: Found,
) -> Result<ContainerConfig, SecurityError> {
    let meta = &pod.metadata;
    let security = {
        let target = found.target.as_deref();
        security::of_container(pod, container, &found.user, target, found.users, &found.machine.seccomp)?
    };
    let expanded = |words: Option<&Vec<String>>| -> Vec<String> {
        let known = |name: &str| found.environment.get(name).cloned();
        words.into_iter().flatten().map(|word| expand(word, known)).collect()
    };
    let labels = [
        (CONTAINER_NAME, container.name.clone()),
        (POD_NAME, meta.name.clone().unwrap_or_default()),
        (POD_NAMESPACE, meta.namespace.clone().unwrap_or_default()),
        (POD_UID, meta.uid.clone().unwrap_or_default()),
    ];
    let last_words_by = container.termination_message_policy.clone().unwrap_or_default();
    let annotations =
        [(HASH, hash(container)), (RESTARTS, found.attempt.to_string()), (LAST_WORDS_BY, last_words_by)];
    let owned = |pairs: Vec<(&str, String)>| -> HashMap<String, String> {
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    };
    Ok(ContainerConfig {
        metadata: Some(ContainerMetadata { name: container.name.clone(), attempt: found.attempt }),
        image: Some(ImageSpec {
            user_specified_image: container.image.clone().unwrap_or_default(),
            ..ImageSpec::named(found.image.clone())
        }),
        command: expanded(container.command.as_ref()),
        args: expanded(container.args.as_ref()),
        working_dir: container.working_dir.clone().unwrap_or_default(),
        envs: found
            .environment
            .iter()
            .map(|(key, value)| KeyValue { key: key.clone(), value: value.clone().into_bytes() })
            .collect(),
        mounts: found.mounts.into_iter().map(|mount| as_seen_by(mount, found.users)).collect(),
        labels: owned(labels.into()),
        annotations: owned(annotations.into()),
        log_path: format!("{}/{}.log", container.name, found.attempt),
        stdin: container.stdin == Some(true),
        stdin_once: container.stdin_once == Some(true),
        tty: container.tty == Some(true),
        linux: Some(LinuxContainerConfig {
            resources: Some(LinuxContainerResources {
                cpuset_cpus: found.cpus.map(|cpus| cpus.to_string()).unwrap_or_default(),
                ..resources::of_container(pod, container, &found.machine)
            }),
            security_context: Some(security),
        }),
        ..ContainerConfig::default()
    })
}

/// What belongs to root belongs to the pod's root, where that is another.
fn as_seen_by(mount: Mount, users: Option<Users>) -> Mount {
    let all: Vec<_> = users.map(Users::mapping).into_iter().collect();
    Mount { uid_mappings: all.clone(), gid_mappings: all, ..mount }
}

/// Changes with what makes a container another one: its name and its image. Its resources may change while it runs.
pub(crate) fn hash(container: &Container) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let parts = [&*container.name, "\0", container.image.as_deref().unwrap_or_default()];
    for byte in parts.concat().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:x}")
}
