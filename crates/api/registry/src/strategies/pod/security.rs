//! Whom containers run as and what they may do, for the pod and for each container.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::check::Around;
use super::mounts;
use crate::strategies::fields::{at, flag, has, int, list, text, texts};
use crate::strategies::names;

const MOST: i64 = i32::MAX as i64;

pub(super) fn of_pod(errors: &mut Errors, spec_path: &Path<'_>, spec: &Value) {
    let context = at(spec, "securityContext");
    let path = spec_path.child("securityContext");
    ids(errors, &path, context, &["fsGroup", "runAsUser", "runAsGroup"]);
    for (i, group) in list(context, "supplementalGroups").iter().enumerate() {
        let group = group.as_i64().unwrap_or(0);
        names::between(errors, &path.child("supplementalGroups").index(i), group, 0, MOST);
    }
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&path.child("shareProcessNamespace"), &true.into(), detail);
    }
    sysctls(errors, &path.child("sysctls"), context, spec);
    for (field, known) in [
        ("fsGroupChangePolicy", ["Always", "OnRootMismatch"]),
        ("supplementalGroupsPolicy", ["Merge", "Strict"]),
        ("seLinuxChangePolicy", ["MountOption", "Recursive"]),
    ] {
        names::one_of_if_set(errors, &path.child(field), at(context, field), &known);
        if field == "fsGroupChangePolicy" {
            seccomp(errors, &path.child("seccompProfile"), at(context, "seccompProfile"));
            app_armor(errors, &path.child("appArmorProfile"), at(context, "appArmorProfile"));
        }
    }
}

pub(super) fn of_container(errors: &mut Errors, path: &Path<'_>, container: &Value, around: &Around<'_>) {
    let context = at(container, "securityContext");
    if context.is_null() {
        return;
    }
    ids(errors, path, context, &["runAsUser", "runAsGroup"]);
    let proc_mount = at(context, "procMount");
    names::one_of_if_set(errors, &path.child("procMount"), proc_mount, &["Default", "Unmasked"]);
    if around.host_users() && proc_mount == "Unmasked" {
        errors.invalid(&path.child("procMount"), proc_mount, "`hostUsers` must be false to use `Unmasked`");
    }
    seccomp(errors, &path.child("seccompProfile"), at(context, "seccompProfile"));
    if at(context, "allowPrivilegeEscalation") == &Value::Bool(false) {
        if flag(context, "privileged") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.invalid(path, context, detail);
        }
        if texts(at(context, "capabilities"), "add").any(|capability| capability == "CAP_SYS_ADMIN") {
            let detail =
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.invalid(path, context, detail);
        }
    }
    app_armor(errors, &path.child("appArmorProfile"), at(context, "appArmorProfile"));
}

fn ids(errors: &mut Errors, path: &Path<'_>, context: &Value, fields: &[&str]) {
    for field in fields {
        if let Some(id) = int(context, field) {
            names::between(errors, &path.child(field), id, 0, MOST);
        }
    }
}

fn sysctls(errors: &mut Errors, path: &Path<'_>, context: &Value, spec: &Value) {
    let sysctls = list(context, "sysctls");
    for (i, sysctl) in sysctls.iter().enumerate() {
        let name = text(sysctl, "name");
        let one = path.index(i);
        let path = one.child("name");
        let fits = name.len() <= 253
            && name.split(['.', '/']).all(|part| {
                let ends = |byte: Option<u8>| {
                    byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                };
                ends(part.bytes().next())
                    && ends(part.bytes().last())
                    && part.bytes().all(|byte| {
                        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
                    })
            });
        if name.is_empty() {
            errors.required(&path, "");
        } else if !fits {
            let detail = "must have at most 253 characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            names::wrong(errors, &path, name, detail);
        } else if sysctls.iter().take(i).any(|other| text(other, "name") == name) {
            errors.duplicate(&path, &name.into());
        }
        let dotted = name.replace('/', ".");
        if flag(spec, "hostNetwork") && dotted.starts_with("net.") {
            names::wrong(errors, &path, name, "may not be specified when 'hostNetwork' is true");
        }
        let shared = ["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."];
        if flag(spec, "hostIPC") && shared.iter().any(|prefix| dotted.starts_with(prefix)) {
            names::wrong(errors, &path, name, "may not be specified when 'hostIPC' is true");
        }
    }
}

fn seccomp(errors: &mut Errors, path: &Path<'_>, profile: &Value) {
    if profile.is_null() {
        return;
    }
    match text(profile, "type") {
        "" => errors.required(&path.child("type"), "type is required when seccompProfile is set"),
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        other => {
            errors.not_supported(
                &path.child("type"),
                &other.into(),
                &["Localhost", "RuntimeDefault", "Unconfined"],
            );
        }
    }
    let local = path.child("localhostProfile");
    match (text(profile, "type") == "Localhost", at(profile, "localhostProfile").as_str()) {
        (true, None) => errors.required(&local, "must be set when seccomp type is Localhost"),
        (true, Some(file)) => mounts::descending(errors, &local, file),
        (false, Some(_)) => errors.invalid(&local, profile, "can only be set when seccomp type is Localhost"),
        (false, None) => {}
    }
}

fn app_armor(errors: &mut Errors, path: &Path<'_>, profile: &Value) {
    if profile.is_null() {
        return;
    }
    let local = path.child("localhostProfile");
    let name = at(profile, "localhostProfile").as_str();
    match text(profile, "type") {
        "" => errors.required(&path.child("type"), "type is required when appArmorProfile is set"),
        "Localhost" => match name {
            None | Some("") => errors.required(&local, "must be set when AppArmor type is Localhost"),
            Some(name) if name.trim() != name => {
                names::wrong(errors, &local, name, "must not be padded with whitespace");
            }
            Some(name) if name.len() > 4095 => errors.too_long(&local, 4095),
            Some(_) => {}
        },
        "RuntimeDefault" | "Unconfined" => {
            if let Some(name) = name {
                names::wrong(errors, &local, name, "can only be set when AppArmor type is Localhost");
            }
        }
        other => {
            errors.not_supported(
                &path.child("type"),
                &other.into(),
                &["Localhost", "RuntimeDefault", "Unconfined"],
            );
        }
    }
}

/// A user namespace of its own goes with none of the host's namespaces.
pub(super) fn host_users(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    if around.host_users() {
        return;
    }
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if flag(around.spec, field) {
            errors.forbidden(&path.child(shown), "when `hostUsers` is false");
        }
    }
}

fn each_container(spec: &Value) -> impl Iterator<Item = (&'static str, usize, &Value)> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(move |field| {
        list(spec, field).iter().enumerate().map(move |(i, container)| (field, i, container))
    })
}

pub(super) fn linux(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    const DETAIL: &str = "windows options cannot be set for a linux pod";
    if has(at(around.spec, "securityContext"), "windowsOptions") {
        errors.forbidden(&path.child("securityContext").child("windowsOptions"), DETAIL);
    }
    for (field, i, container) in each_container(around.spec) {
        if has(at(container, "securityContext"), "windowsOptions") {
            let path = path.child(field);
            errors.forbidden(&path.index(i).child("securityContext").child("windowsOptions"), DETAIL);
        }
    }
}

pub(super) fn windows(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    const DETAIL: &str = "cannot be set for a windows pod";
    const OF_POD: &[&str] = &[
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "runAsUser",
        "runAsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "seLinuxChangePolicy",
    ];
    const OF_CONTAINER: &[&str] = &[
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    for field in OF_POD.iter().filter(|field| has(at(around.spec, "securityContext"), field)) {
        errors.forbidden(&path.child("securityContext").child(field), DETAIL);
    }
    for field in ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] {
        if has(around.spec, field) {
            errors.forbidden(&path.child(field), DETAIL);
        }
    }
    for (list, i, container) in each_container(around.spec) {
        for field in OF_CONTAINER.iter().filter(|field| has(at(container, "securityContext"), field)) {
            let path = path.child(list);
            errors.forbidden(&path.index(i).child("securityContext").child(field), DETAIL);
        }
    }
}
