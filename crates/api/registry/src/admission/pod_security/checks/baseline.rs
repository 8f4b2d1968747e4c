//! What no pod may do that is not trusted with its node: the checks of the baseline level, each in its versions.

use std::collections::BTreeSet;

use kedge_kinds::sysctls::SAFE;
use serde_json::Value;

use super::{Pod, Violation, is_true, items, name, named, plural, quoted, set, sorted, violation};
use crate::object::text;

pub(super) fn app_armor(pod: &Pod<'_>) -> Option<Violation> {
    let (who, bad) = pod.setting(|owner| profile_type(owner, "appArmorProfile").filter(is_own_profile));
    let annotations: BTreeSet<String> = pod
        .annotations()
        .filter(|(key, _)| key.starts_with("container.apparmor.security.beta.kubernetes.io/"))
        .filter(|(_, value)| !value.is_empty() && *value != "runtime/default")
        .filter(|(_, value)| !value.starts_with("localhost/"))
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    let noted = (!annotations.is_empty()).then(|| plural("annotation", "annotations", annotations.len()));
    let who: Vec<String> = who.into_iter().chain(noted.map(str::to_owned)).collect();
    if who.is_empty() {
        return None;
    }
    let bad: BTreeSet<&str> = bad.into_iter().collect();
    let values: Vec<&str> = bad.into_iter().chain(annotations.iter().map(|one| &**one)).collect();
    violation(
        plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len()),
        format!("{} must not set AppArmor profile type to {}", who.join(" and "), quoted(values)),
    )
}

const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    adding(pod, &DEFAULT_CAPABILITIES).and_then(|detail| violation("non-default capabilities", detail))
}

/// What to say of containers that add other capabilities than these.
pub(super) fn adding(pod: &Pod<'_>, allowed: &[&str]) -> Option<String> {
    let mut bad = BTreeSet::new();
    let containers = pod.containers_that(|container| {
        let added = items(set(container, &["securityContext", "capabilities", "add"]));
        let other: Vec<&str> =
            added.filter_map(Value::as_str).filter(|capability| !allowed.contains(capability)).collect();
        bad.extend(&other);
        !other.is_empty()
    });
    (!containers.is_empty()).then(|| {
        format!(
            "{} must not include {} in securityContext.capabilities.add",
            named(&containers),
            sorted(&bad)
        )
    })
}

pub(super) fn host_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .into_iter()
        .filter(|field| is_true(pod.spec, &[field]))
        .map(|field| format!("{field}=true"))
        .collect();
    if shared.is_empty() { None } else { violation("host namespaces", shared.join(", ")) }
}

pub(super) fn host_paths(pod: &Pod<'_>) -> Option<Violation> {
    let volumes: Vec<&str> =
        pod.list("volumes").filter(|volume| set(volume, &["hostPath"]).is_some()).map(name).collect();
    if volumes.is_empty() {
        return None;
    }
    let which = format!("{} {}", plural("volume", "volumes", volumes.len()), quoted(volumes.iter().copied()));
    violation("hostPath volumes", which)
}

pub(super) fn host_ports(pod: &Pod<'_>) -> Option<Violation> {
    let mut ports = BTreeSet::new();
    let containers = pod.containers_that(|container| {
        let used: Vec<String> = items(container.get("ports"))
            .filter_map(|port| port.get("hostPort")?.as_i64())
            .filter(|port| *port != 0)
            .map(|port| port.to_string())
            .collect();
        let any = !used.is_empty();
        ports.extend(used);
        any
    });
    if containers.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {}",
        named(&containers),
        plural("uses", "use", containers.len()),
        plural("hostPort", "hostPorts", ports.len()),
        ports.into_iter().collect::<Vec<_>>().join(", ")
    );
    violation("hostPort", detail)
}

pub(super) fn probe_hosts(pod: &Pod<'_>) -> Option<Violation> {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let (mut containers, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for container in pod.containers() {
        for handler in HANDLERS.iter().filter_map(|path| set(container, path)) {
            for way in ["httpGet", "tcpSocket"] {
                let host = text(handler, &[way, "host"]);
                if !host.is_empty() {
                    containers.insert(name(container));
                    hosts.insert(host);
                }
            }
        }
    }
    if containers.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {}",
        named(&containers.iter().copied().collect::<Vec<_>>()),
        plural("uses", "use", containers.len()),
        plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len()),
        sorted(&hosts)
    );
    violation("probe or lifecycle host", detail)
}

pub(super) fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let containers = pod.containers_that(|container| is_true(container, &["securityContext", "privileged"]));
    if containers.is_empty() {
        return None;
    }
    violation("privileged", format!("{} must not set securityContext.privileged=true", named(&containers)))
}

pub(super) fn proc_mount_of_host_users(pod: &Pod<'_>) -> Option<Violation> {
    if pod.has_own_users() { None } else { proc_mount(pod) }
}

pub(super) fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    let mut bad = BTreeSet::new();
    let containers = pod.containers_that(|container| {
        let mount = set(container, &["securityContext", "procMount"]).and_then(Value::as_str);
        let other = mount.filter(|mount| *mount != "Default");
        bad.extend(other);
        other.is_some()
    });
    if containers.is_empty() {
        return None;
    }
    let detail = format!("{} must not set securityContext.procMount to {}", named(&containers), sorted(&bad));
    violation("procMount", detail)
}

const SELINUX_TYPES: [&str; 5] =
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

pub(super) fn selinux_0(pod: &Pod<'_>) -> Option<Violation> {
    selinux(pod, &SELINUX_TYPES[..4])
}

pub(super) fn selinux_31(pod: &Pod<'_>) -> Option<Violation> {
    selinux(pod, &SELINUX_TYPES)
}

fn selinux(pod: &Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let (who, bad) = pod.setting(|owner| {
        let options = set(owner, &["securityContext", "seLinuxOptions"])?;
        let kind = Some(text(options, &["type"])).filter(|kind| !allowed.contains(kind));
        let (user, role) = (!text(options, &["user"]).is_empty(), !text(options, &["role"]).is_empty());
        (kind.is_some() || user || role).then_some((kind, user, role))
    });
    let who = who?;
    let types: BTreeSet<&str> = bad.iter().filter_map(|(kind, ..)| *kind).collect();
    let kinds =
        (!types.is_empty()).then(|| format!("{} {}", plural("type", "types", types.len()), sorted(&types)));
    let user = bad.iter().any(|(_, user, _)| *user).then(|| "user may not be set".to_owned());
    let role = bad.iter().any(|(.., role)| *role).then(|| "role may not be set".to_owned());
    let what: Vec<String> = [kinds, user, role].into_iter().flatten().collect();
    let detail = format!("{who} set forbidden securityContext.seLinuxOptions: {}", what.join("; "));
    violation("seLinuxOptions", detail)
}

/// Before profiles were fields, they were annotations.
pub(super) fn seccomp_0(pod: &Pod<'_>) -> Option<Violation> {
    let of_pod = "seccomp.security.alpha.kubernetes.io/pod".to_owned();
    let of_containers =
        pod.containers().map(|one| format!("container.seccomp.security.alpha.kubernetes.io/{}", name(one)));
    let is_allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let bad: BTreeSet<String> = std::iter::once(of_pod)
        .chain(of_containers)
        .filter_map(|key| {
            let value = pod.annotations?.get(&key)?.as_str()?;
            (!is_allowed(value)).then(|| format!("{key}={value:?}"))
        })
        .collect();
    if bad.is_empty() {
        return None;
    }
    let listed = bad.iter().map(|one| &**one).collect::<Vec<_>>().join(", ");
    let detail = format!("forbidden {} {listed}", plural("annotation", "annotations", bad.len()));
    violation("seccompProfile", detail)
}

pub(super) fn seccomp_19(pod: &Pod<'_>) -> Option<Violation> {
    let (who, bad) = pod.setting(|owner| profile_type(owner, "seccompProfile").filter(is_own_profile));
    let bad = sorted(&bad.into_iter().collect());
    let detail = format!("{} must not set securityContext.seccompProfile.type to {bad}", who?);
    violation("seccompProfile", detail)
}

/// Neither the runtime's nor one that the node's owner has put there.
fn is_own_profile(kind: &&str) -> bool {
    !matches!(*kind, "RuntimeDefault" | "Localhost")
}

/// The type of a profile in a pod's or a container's security context; `None` where no profile is set.
pub(super) fn profile_type<'v>(owner: &'v Value, profile: &str) -> Option<&'v str> {
    set(owner, &["securityContext", profile]).map(|profile| text(profile, &["type"]))
}

pub(super) fn sysctls_0(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SAFE[..5])
}

pub(super) fn sysctls_27(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SAFE[..6])
}

pub(super) fn sysctls_29(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SAFE[..10])
}

pub(super) fn sysctls_32(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SAFE)
}

fn sysctls(pod: &Pod<'_>, allowed: &[&str]) -> Option<Violation> {
    let bad: Vec<&str> = items(pod.at(&["securityContext", "sysctls"]))
        .map(name)
        .filter(|sysctl| !allowed.contains(sysctl))
        .collect();
    if bad.is_empty() { None } else { violation("forbidden sysctls", bad.join(", ")) }
}

pub(super) fn host_process(pod: &Pod<'_>) -> Option<Violation> {
    let path = ["securityContext", "windowsOptions", "hostProcess"];
    let (who, _) = pod.setting(|owner| is_true(owner, &path).then_some(()));
    violation("hostProcess", format!("{} must not set securityContext.windowsOptions.hostProcess=true", who?))
}
