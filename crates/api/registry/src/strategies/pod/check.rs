//! Whether a pod's spec makes sense: the order in which its parts are looked at, and the small parts themselves.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::{containers, resources, scheduling, security, volumes};
use crate::strategies::fields::{at, flag, has, int, list, number, text, texts};
use crate::strategies::names;

/// What containers need to know about the pod around them.
pub(super) struct Around<'a> {
    pub(super) spec: &'a Value,
    /// Volumes without mistakes, by name; only these can be mounted.
    pub(super) volumes: Vec<(&'a str, &'a Value)>,
    /// A pod itself and not a template.
    pub(super) is_pod: bool,
}

impl<'a> Around<'a> {
    pub(super) fn volume(&self, name: &str) -> Option<&'a Value> {
        self.volumes.iter().find(|(known, _)| *known == name).map(|(_, volume)| *volume)
    }

    /// The pod's users are the host's users.
    pub(super) fn host_users(&self) -> bool {
        at(self.spec, "hostUsers").as_bool().unwrap_or(true)
    }
}

pub(in crate::strategies) fn spec(
    errors: &mut Errors,
    path: &Path<'_>,
    spec: &Value,
    name: &str,
    is_pod: bool,
) {
    let volumes = volumes::all(errors, &path.child("volumes"), spec, name);
    let around = Around { spec, volumes, is_pod };
    resources::pod_claims(errors, &path.child("resourceClaims"), spec);
    containers::all(errors, path, &around);
    resources::of_pod(errors, path, spec);
    host_network(errors, path, &around);
    names::one_of(
        errors,
        &path.child("restartPolicy"),
        text(spec, "restartPolicy"),
        &["Always", "OnFailure", "Never"],
    );
    names::one_of(errors, &path.child("dnsPolicy"), text(spec, "dnsPolicy"), DNS_POLICIES);
    names::labels(errors, &path.child("nodeSelector"), spec, "nodeSelector");
    security::of_pod(errors, path, spec);
    scheduling::affinity(errors, &path.child("affinity"), at(spec, "affinity"));
    dns(errors, &path.child("dnsConfig"), spec);
    gates(errors, path, spec);
    scheduling::spread(errors, &path.child("topologySpreadConstraints"), spec);
    security::host_users(errors, path, &around);
    host_name_override(errors, path, spec);
    for field in ["serviceAccountName", "nodeName"] {
        subdomain_if_set(errors, path, spec, field);
    }
    if let Some(seconds) = int(spec, "activeDeadlineSeconds") {
        names::between(errors, &path.child("activeDeadlineSeconds"), seconds, 1, i64::from(i32::MAX));
    }
    for field in ["hostname", "subdomain"] {
        let value = text(spec, field);
        if !value.is_empty() {
            names::label(errors, &path.child(field), value);
        }
    }
    scheduling::tolerations(errors, &path.child("tolerations"), spec);
    host_aliases(errors, &path.child("hostAliases"), spec);
    for field in ["priorityClassName", "runtimeClassName"] {
        subdomain_if_set(errors, path, spec, field);
    }
    let preemption = at(spec, "preemptionPolicy");
    names::one_of_if_set(
        errors,
        &path.child("preemptionPolicy"),
        preemption,
        &["PreemptLowerPriority", "Never"],
    );
    resources::overhead(errors, &path.child("overhead"), spec);
    operating_system(errors, path, &around);
}

const DNS_POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];

fn subdomain_if_set(errors: &mut Errors, path: &Path<'_>, spec: &Value, field: &str) {
    let value = text(spec, field);
    if !value.is_empty() {
        names::subdomain(errors, &path.child(field), value);
    }
}

/// On the host's network a container's port is the host's.
fn host_network(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    if !flag(around.spec, "hostNetwork") {
        return;
    }
    let path = path.child("containers");
    for (i, container) in list(around.spec, "containers").iter().enumerate() {
        for (j, port) in list(container, "ports").iter().enumerate() {
            let (host, inside) = (number(port, "hostPort"), number(port, "containerPort"));
            if (around.is_pod || host != 0) && host != inside {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(
                    &path.index(i).child("ports").index(j).child("hostPort"),
                    &host.into(),
                    detail,
                );
            }
        }
    }
}

fn dns(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let config = at(spec, "dnsConfig");
    let (servers, searches) = (list(config, "nameservers"), list(config, "searches"));
    if text(spec, "dnsPolicy") == "None" {
        if config.is_null() {
            return errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return errors.required(&path.child("nameservers"), detail);
        }
    }
    if servers.len() > 3 {
        errors.invalid(
            &path.child("nameservers"),
            at(config, "nameservers"),
            "must not have more than 3 nameservers",
        );
    }
    for (i, server) in texts(config, "nameservers").enumerate() {
        names::address(errors, &path.child("nameservers").index(i), server);
    }
    if searches.len() > 32 {
        errors.invalid(
            &path.child("searches"),
            at(config, "searches"),
            "must not have more than 32 search paths",
        );
    }
    if texts(config, "searches").map(|search| search.len() + 1).sum::<usize>() > 2049 {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        errors.invalid(&path.child("searches"), at(config, "searches"), detail);
    }
    for (i, search) in texts(config, "searches").enumerate() {
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            names::search_domain(errors, &path.child("searches").index(i), search);
        }
    }
    for (i, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            errors.required(&path.child("options").index(i), "must not be empty");
        }
    }
}

fn gates(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    for (i, gate) in list(spec, "readinessGates").iter().enumerate() {
        let path = path.child("readinessGates");
        names::qualified(errors, &path.index(i).child("conditionType"), text(gate, "conditionType"));
    }
    let gates = list(spec, "schedulingGates");
    for (i, gate) in gates.iter().enumerate() {
        let path = path.child("schedulingGates");
        let name = text(gate, "name");
        names::qualified(errors, &path.index(i), name);
        if gates.iter().take(i).any(|before| text(before, "name") == name) {
            errors.duplicate(&path.index(i), &name.into());
        }
    }
}

fn host_name_override(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let Some(name) = at(spec, "hostnameOverride").as_str() else { return };
    let path = path.child("hostnameOverride");
    if flag(spec, "setHostnameAsFQDN") {
        errors.forbidden(&path, "may not be specified when setHostnameAsFQDN is true");
    }
    if flag(spec, "hostNetwork") {
        errors.forbidden(&path, "may not be specified when hostNetwork is true");
    }
    if name.len() > 64 {
        errors.too_long(&path, 64);
    }
    names::subdomain(errors, &path, name);
}

fn host_aliases(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    for (i, alias) in list(spec, "hostAliases").iter().enumerate() {
        names::address(errors, &path.index(i).child("ip"), text(alias, "ip"));
        for (j, name) in texts(alias, "hostnames").enumerate() {
            names::subdomain(errors, &path.index(i).child("hostnames").index(j), name);
        }
    }
}

fn operating_system(errors: &mut Errors, path: &Path<'_>, around: &Around<'_>) {
    if !has(around.spec, "os") {
        return;
    }
    let path_os = path.child("os");
    match text(at(around.spec, "os"), "name") {
        "" => errors.required(&path_os.child("name"), ""),
        "linux" => security::linux(errors, path, around),
        "windows" => security::windows(errors, path, around),
        other => errors.not_supported(&path_os, &other.into(), &["linux", "windows"]),
    }
}
