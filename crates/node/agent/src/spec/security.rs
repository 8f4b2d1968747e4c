//! Who a container is and what it may do.

use std::path::Path;

use k8s_openapi::api::core::v1::{
    AppArmorProfile, Container, Pod, SELinuxOptions, SeccompProfile, SecurityContext,
};
use kedge_runtime::wire::{
    Capability, Int64Value, LinuxContainerSecurityContext, LinuxSandboxSecurityContext, NamespaceMode,
    NamespaceOption, ProfileType, SeLinuxOption, SecurityProfile, SupplementalGroupsPolicy,
};

use crate::users::Users;

/// What an image says about who runs in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageUser {
    pub(crate) uid: Option<i64>,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SecurityError {
    #[error("container's runAsUser breaks non-root policy (pod: \"{pod}\", container: {container})")]
    RootAsked { pod: String, container: String },
    #[error("container has runAsNonRoot and image will run as root (pod: \"{pod}\", container: {container})")]
    RootImage { pod: String, container: String },
    #[error(
        "container has runAsNonRoot and image has non-numeric user ({user}), cannot verify user is non-root (pod: \"{pod}\", container: {container})"
    )]
    UnknownUser { user: String, pod: String, container: String },
    #[error("localhostProfile must be set if seccompProfile type is Localhost.")]
    NoProfile,
}

/// What of the kernel's own files a container may not see, and what it may not change.
const MASKED: [&str; 12] = [
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
];
const FIXED: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// Whether the pod asks for users of its own.
pub(crate) fn has_own_users(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.host_users) == Some(false)
}

/// What the pod's containers share and what is the node's.
pub(crate) fn namespaces(pod: &Pod, users: Option<Users>) -> NamespaceOption {
    let spec = pod.spec.as_ref();
    let is = |flag: Option<bool>| flag == Some(true);
    let node_or = |node: bool, other: NamespaceMode| if node { NamespaceMode::Node } else { other };
    let shared = spec.is_some_and(|spec| is(spec.share_process_namespace));
    let own = if shared { NamespaceMode::Pod } else { NamespaceMode::Container };
    NamespaceOption {
        network: node_or(spec.is_some_and(|spec| is(spec.host_network)), NamespaceMode::Pod).into(),
        pid: node_or(spec.is_some_and(|spec| is(spec.host_pid)), own).into(),
        ipc: node_or(spec.is_some_and(|spec| is(spec.host_ipc)), NamespaceMode::Pod).into(),
        target_id: String::new(),
        userns_options: users.map(Users::namespace),
    }
}

/// The sandbox itself runs nothing of the pod's, so it gets no more than the pod as a whole asks for.
pub(crate) fn of_sandbox(pod: &Pod, users: Option<Users>) -> LinuxSandboxSecurityContext {
    let spec = pod.spec.as_ref();
    let own = spec.and_then(|spec| spec.security_context.as_ref());
    let all =
        spec.into_iter().flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
    let privileged = all
        .into_iter()
        .any(|container| context(container).is_some_and(|context| context.privileged == Some(true)));
    LinuxSandboxSecurityContext {
        namespace_options: Some(namespaces(pod, users)),
        selinux_options: own.and_then(|own| own.se_linux_options.as_ref()).map(selinux),
        run_as_user: own.and_then(|own| own.run_as_user).map(|value| Int64Value { value }),
        // A group without a user is refused, and the sandbox's image has a user.
        run_as_group: own
            .filter(|own| own.run_as_user.is_some())
            .and_then(|own| own.run_as_group)
            .map(|value| Int64Value { value }),
        supplemental_groups: groups(pod),
        privileged,
        supplemental_groups_policy: policy(pod).into(),
        // A profile that a pod brings is for its programs; the sandbox's own needs little.
        seccomp: Some(of(ProfileType::RuntimeDefault, String::new())),
        ..LinuxSandboxSecurityContext::default()
    }
}

pub(crate) fn of_container(
    pod: &Pod,
    container: &Container,
    image: &ImageUser,
    target: Option<&str>,
    users: Option<Users>,
    profiles: &Path,
) -> Result<LinuxContainerSecurityContext, SecurityError> {
    let pods = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let own = context(container);
    let user = own.and_then(|own| own.run_as_user).or(pods.and_then(|pods| pods.run_as_user));
    let group = own.and_then(|own| own.run_as_group).or(pods.and_then(|pods| pods.run_as_group));
    let non_root = own.and_then(|own| own.run_as_non_root).or(pods.and_then(|pods| pods.run_as_non_root));
    if non_root == Some(true) {
        not_root(pod, container, user, image)?;
    }
    let mut namespaces = namespaces(pod, users);
    // Where processes are shared, everybody sees the target's already.
    if let Some(target) = target.filter(|_| namespaces.pid() == NamespaceMode::Container) {
        namespaces.pid = NamespaceMode::Target.into();
        namespaces.target_id = target.to_owned();
    }
    let profile = own
        .and_then(|own| own.seccomp_profile.as_ref())
        .or_else(|| pods.and_then(|pods| pods.seccomp_profile.as_ref()));
    let apparmor = own
        .and_then(|own| own.app_armor_profile.as_ref())
        .or_else(|| pods.and_then(|pods| pods.app_armor_profile.as_ref()));
    let unmasked = own.and_then(|own| own.proc_mount.as_deref()) == Some("Unmasked");
    let paths = |all: &[&str]| match unmasked {
        true => Vec::new(),
        false => all.iter().map(|path| (*path).to_owned()).collect(),
    };
    Ok(LinuxContainerSecurityContext {
        capabilities: own.and_then(|own| own.capabilities.as_ref()).map(|wanted| Capability {
            add_capabilities: wanted.add.clone().unwrap_or_default(),
            drop_capabilities: wanted.drop.clone().unwrap_or_default(),
        }),
        privileged: own.is_some_and(|own| own.privileged == Some(true)),
        namespace_options: Some(namespaces),
        selinux_options: own
            .and_then(|own| own.se_linux_options.as_ref())
            .or_else(|| pods.and_then(|pods| pods.se_linux_options.as_ref()))
            .map(selinux),
        // A group needs a user beside it; the image's is the one that it would have been.
        run_as_user: user.or(image.uid.filter(|_| group.is_some())).map(|value| Int64Value { value }),
        run_as_group: group.map(|value| Int64Value { value }),
        run_as_username: if user.is_none() { image.name.clone() } else { String::new() },
        readonly_rootfs: own.is_some_and(|own| own.read_only_root_filesystem == Some(true)),
        supplemental_groups: groups(pod),
        supplemental_groups_policy: policy(pod).into(),
        masked_paths: paths(&MASKED),
        readonly_paths: paths(&FIXED),
        no_new_privs: own.is_some_and(|own| own.allow_privilege_escalation == Some(false)),
        seccomp: Some(seccomp(profile, profiles)?),
        apparmor: apparmor.map(self::apparmor),
    })
}

fn not_root(
    pod: &Pod,
    container: &Container,
    user: Option<i64>,
    image: &ImageUser,
) -> Result<(), SecurityError> {
    let meta = &pod.metadata;
    let names = || {
        let (name, namespace) = (meta.name.as_deref(), meta.namespace.as_deref());
        let uid = meta.uid.as_deref().unwrap_or_default();
        let pod = format!("{}_{}({uid})", name.unwrap_or_default(), namespace.unwrap_or_default());
        (pod, container.name.clone())
    };
    let (pod, container) = names();
    match user {
        Some(0) => Err(SecurityError::RootAsked { pod, container }),
        Some(_) => Ok(()),
        None if !image.name.is_empty() => {
            Err(SecurityError::UnknownUser { user: image.name.clone(), pod, container })
        }
        None if image.uid.unwrap_or(0) == 0 => Err(SecurityError::RootImage { pod, container }),
        None => Ok(()),
    }
}

fn context(container: &Container) -> Option<&SecurityContext> {
    container.security_context.as_ref()
}

/// Whoever shares files by a group is in it.
fn groups(pod: &Pod) -> Vec<i64> {
    let own = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let listed = own.and_then(|own| own.supplemental_groups.clone()).unwrap_or_default();
    listed.into_iter().chain(own.and_then(|own| own.fs_group)).collect()
}

fn policy(pod: &Pod) -> SupplementalGroupsPolicy {
    let own = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    match own.and_then(|own| own.supplemental_groups_policy.as_deref()) {
        Some("Strict") => SupplementalGroupsPolicy::Strict,
        _ => SupplementalGroupsPolicy::Merge,
    }
}

/// `profiles` is where those of this node are.
fn seccomp(profile: Option<&SeccompProfile>, profiles: &Path) -> Result<SecurityProfile, SecurityError> {
    Ok(match profile.map(|profile| &*profile.type_) {
        Some("RuntimeDefault") => of(ProfileType::RuntimeDefault, String::new()),
        Some("Localhost") => {
            let name = profile.and_then(|profile| profile.localhost_profile.as_deref());
            let name = name.filter(|name| !name.is_empty()).ok_or(SecurityError::NoProfile)?;
            of(ProfileType::Localhost, profiles.join(name).display().to_string())
        }
        _ => of(ProfileType::Unconfined, String::new()),
    })
}

fn apparmor(profile: &AppArmorProfile) -> SecurityProfile {
    match &*profile.type_ {
        "Unconfined" => of(ProfileType::Unconfined, String::new()),
        "Localhost" => of(ProfileType::Localhost, profile.localhost_profile.clone().unwrap_or_default()),
        _ => of(ProfileType::RuntimeDefault, String::new()),
    }
}

fn of(profile: ProfileType, localhost_ref: String) -> SecurityProfile {
    SecurityProfile { profile_type: profile.into(), localhost_ref }
}

fn selinux(options: &SELinuxOptions) -> SeLinuxOption {
    SeLinuxOption {
        user: options.user.clone().unwrap_or_default(),
        role: options.role.clone().unwrap_or_default(),
        r#type: options.type_.clone().unwrap_or_default(),
        level: options.level.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests;
