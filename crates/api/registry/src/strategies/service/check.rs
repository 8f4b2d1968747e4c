//! Whether a Service makes sense. Addresses and node ports have been handed out before this is asked.

use std::net::IpAddr;

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::is_reachable_from_outside;
use crate::strategies::fields::{at, has, int, list, number, text, texts};
use crate::strategies::names;

const MAX_AFFINITY_SECONDS: i64 = 86400;
const FOR_BALANCERS: &str = "may only be used when `type` is 'LoadBalancer'";

pub(super) fn service(errors: &mut Errors, service: &Value) {
    let (path, spec) = (Path::root("spec"), at(service, "spec"));
    let kind = text(spec, "type");
    if list(spec, "ports").is_empty() && !is_headless(spec) && kind != "ExternalName" {
        errors.required(&path.child("ports"), "");
    }
    of_type(errors, &path, spec, kind);
    for (i, one) in list(spec, "ports").iter().enumerate() {
        port(errors, &path.child("ports").index(i), one, i, list(spec, "ports"));
    }
    names::labels(errors, &path.child("selector"), spec, "selector");
    affinity(errors, &path, spec);
    if kind != "ExternalName" {
        addresses(errors, &path, spec);
    }
    for (i, address) in texts(spec, "externalIPs").enumerate() {
        let path = path.child("externalIPs");
        names::address(errors, &path.index(i), address);
        names::endpoint_address(errors, &path.index(i), address);
    }
    names::one_of(
        errors,
        &path.child("type"),
        kind,
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    );
    repeated_ports(errors, &path.child("ports"), spec, kind);
    for_balancers(errors, &path, spec, kind == "LoadBalancer");
    traffic(errors, &path, spec);
}

fn of_type(errors: &mut Errors, path: &Path<'_>, spec: &Value, kind: &str) {
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(spec) => {
            let detail = format!("may not be set to 'None' for {kind} services");
            names::wrong(errors, &path.child("clusterIPs").index(0), "None", &detail);
        }
        "ExternalName" => {
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let value = at(spec, field);
                if !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()) {
                    errors.forbidden(&path.child(field), "may not be set for ExternalName services");
                }
            }
            let name = text(spec, "externalName");
            match name.strip_suffix('.').unwrap_or(name) {
                "" => errors.required(&path.child("externalName"), ""),
                name => names::subdomain(errors, &path.child("externalName"), name),
            }
        }
        _ => {}
    }
}

fn port(errors: &mut Errors, path: &Path<'_>, port: &Value, i: usize, ports: &[Value]) {
    let name = text(port, "name");
    if name.is_empty() {
        if ports.len() > 1 {
            errors.required(&path.child("name"), "");
        }
    } else {
        names::label(errors, &path.child("name"), name);
        if ports.iter().take(i).any(|other| text(other, "name") == name) {
            errors.duplicate(&path.child("name"), &name.into());
        }
    }
    names::port_number(errors, &path.child("port"), number(port, "port"));
    names::one_of(errors, &path.child("protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"]);
    names::port(errors, &path.child("targetPort"), at(port, "targetPort"));
    if let Some(protocol) = at(port, "appProtocol").as_str() {
        names::qualified(errors, &path.child("appProtocol"), protocol);
    }
}

fn repeated_ports(errors: &mut Errors, path: &Path<'_>, spec: &Value, kind: &str) {
    let ports = list(spec, "ports");
    if kind == "ClusterIP" {
        for (i, port) in ports.iter().enumerate() {
            if number(port, "nodePort") != 0 {
                errors.forbidden(
                    &path.index(i).child("nodePort"),
                    "may not be used when `type` is 'ClusterIP'",
                );
            }
        }
    }
    let same = |one: &Value, other: &Value, field: &str| {
        number(one, field) == number(other, field) && text(one, "protocol") == text(other, "protocol")
    };
    for (i, port) in ports.iter().enumerate() {
        let node_port = number(port, "nodePort");
        if node_port != 0 && ports.iter().take(i).any(|other| same(port, other, "nodePort")) {
            errors.duplicate(&path.index(i).child("nodePort"), &node_port.into());
        }
    }
    for (i, port) in ports.iter().enumerate() {
        if ports.iter().take(i).any(|other| same(port, other, "port")) {
            let shown = serde_json::json!({"port": number(port, "port"), "protocol": text(port, "protocol")});
            errors.duplicate(&path.index(i), &shown);
        }
    }
}

fn affinity(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let kind = text(spec, "sessionAffinity");
    names::one_of(errors, &path.child("sessionAffinity"), kind, &["ClientIP", "None"]);
    if kind == "ClientIP" {
        let path = path.child("sessionAffinityConfig");
        let seconds = number(at(at(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds");
        if !(1..=MAX_AFFINITY_SECONDS).contains(&seconds) {
            let detail = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
            errors.invalid(&path.child("clientIP").child("timeoutSeconds"), &seconds.into(), &detail);
        }
    }
}

/// `clusterIPs` and their families. `clusterIP` is the first of them.
fn addresses(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let at_addresses = path.child("clusterIPs");
    let (first, all) = (text(spec, "clusterIP"), list(spec, "clusterIPs"));
    if !first.is_empty() && !all.is_empty() && all.first().and_then(Value::as_str) != Some(first) {
        errors.invalid(&at_addresses, at(spec, "clusterIPs"), "first value must match `clusterIP`");
    }
    if first.is_empty() && !all.is_empty() {
        let detail = "must be empty when `clusterIP` is not specified";
        errors.invalid(&at_addresses, at(spec, "clusterIPs"), detail);
    }
    let families: Vec<&str> = texts(spec, "ipFamilies").collect();
    for (i, family) in families.iter().enumerate() {
        let path = path.child("ipFamilies");
        names::one_of(errors, &path.index(i), family, &["IPv4", "IPv6"]);
        if families.iter().take(i).any(|other| other == family) {
            errors.duplicate(&path.index(i), &(*family).into());
        }
    }
    let policies = &["PreferDualStack", "RequireDualStack", "SingleStack"];
    names::one_of_if_set(errors, &path.child("ipFamilyPolicy"), at(spec, "ipFamilyPolicy"), policies);
    // Without `clusterIPs` the generic path has not filled them in yet: `clusterIP` stands for them.
    let shown: Vec<&str> =
        if all.is_empty() && !first.is_empty() { vec![first] } else { texts(spec, "clusterIPs").collect() };
    let before = errors.len();
    for (i, address) in shown.iter().enumerate() {
        if i == 0 && *address == "None" {
            if shown.len() > 1 {
                errors.invalid(
                    &at_addresses,
                    at(spec, "clusterIPs"),
                    "'None' must be the first and only value",
                );
            }
        } else {
            names::address(errors, &at_addresses.index(i), address);
        }
    }
    if shown.len() > 2 {
        errors.invalid(&at_addresses, at(spec, "clusterIPs"), "may only hold up to 2 values");
    }
    if errors.len() == before {
        families_fit(errors, &at_addresses, spec, &shown, &families);
    }
}

fn families_fit(errors: &mut Errors, path: &Path<'_>, spec: &Value, addresses: &[&str], families: &[&str]) {
    let parsed: Vec<Option<IpAddr>> = addresses.iter().map(|address| names::parse_address(address)).collect();
    if let [Some(one), Some(other)] = parsed.as_slice()
        && one.is_ipv4() == other.is_ipv4()
    {
        let detail = "may specify no more than one IP for each IP family";
        errors.invalid(path, at(spec, "clusterIPs"), detail);
    }
    for (i, (address, family)) in parsed.iter().zip(families).enumerate() {
        let Some(address) = address else { continue };
        if address.is_ipv4() != (*family == "IPv4") {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            names::wrong(errors, &path.index(i), addresses.get(i).copied().unwrap_or_default(), &detail);
        }
    }
}

fn for_balancers(errors: &mut Errors, path: &Path<'_>, spec: &Value, balanced: bool) {
    let at_ranges = path.child("LoadBalancerSourceRanges");
    if !list(spec, "loadBalancerSourceRanges").is_empty() && !balanced {
        errors.forbidden(&at_ranges, FOR_BALANCERS);
    }
    for (i, range) in texts(spec, "loadBalancerSourceRanges").enumerate() {
        names::range(errors, &at_ranges.index(i), range.trim());
    }
    if has(spec, "allocateLoadBalancerNodePorts") && !balanced {
        errors.forbidden(&path.child("allocateLoadBalancerNodePorts"), FOR_BALANCERS);
    }
    if let Some(class) = at(spec, "loadBalancerClass").as_str() {
        if balanced {
            names::qualified(errors, &path.child("loadBalancerClass"), class);
        } else {
            errors.forbidden(&path.child("loadBalancerClass"), FOR_BALANCERS);
        }
    }
}

fn traffic(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let external = text(spec, "externalTrafficPolicy");
    let at_external = path.child("externalTrafficPolicy");
    if is_reachable_from_outside(spec) {
        names::one_of(errors, &at_external, external, &["Cluster", "Local"]);
    } else if !external.is_empty() {
        names::wrong(errors, &at_external, external, "may only be set for externally-accessible services");
    }
    if let Some(port) = int(spec, "healthCheckNodePort")
        && port != 0
    {
        let path = path.child("healthCheckNodePort");
        if needs_health_check(spec) {
            names::port_number(errors, &path, port);
        } else {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.invalid(&path, &port.into(), detail);
        }
    }
    let internal = at(spec, "internalTrafficPolicy");
    names::one_of_if_set(errors, &path.child("internalTrafficPolicy"), internal, &["Cluster", "Local"]);
    let spread = at(spec, "trafficDistribution");
    let known = &["PreferClose", "PreferSameZone", "PreferSameNode"];
    names::one_of_if_set(errors, &path.child("trafficDistribution"), spread, known);
}

pub(super) fn needs_health_check(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

pub(super) fn is_headless(spec: &Value) -> bool {
    text(spec, "clusterIP") == "None"
}

/// Where a load balancer answers; the same for ingresses.
pub(in crate::strategies) fn balancer_point(errors: &mut Errors, path: &Path<'_>, point: &Value) {
    let (address, name) = (text(point, "ip"), text(point, "hostname"));
    if !address.is_empty() {
        names::address(errors, &path.child("ip"), address);
    }
    let mode = at(point, "ipMode");
    if !mode.is_null() && address.is_empty() {
        errors.forbidden(&path.child("ipMode"), "may not be specified when `ip` is not set");
    } else {
        names::one_of_if_set(errors, &path.child("ipMode"), mode, &["Proxy", "VIP"]);
    }
    if !name.is_empty() {
        names::subdomain(errors, &path.child("hostname"), name);
        if names::parse_address(name).is_some() {
            names::wrong(errors, &path.child("hostname"), name, "must be a DNS name, not an IP address");
        }
    }
}
