//! Which fields a Service of a type has, and how they follow from each other. Pure; knows no store.

use serde_json::{Value, json};

use super::range::{Family, Range};
use crate::object;

const NONE: &str = "None";

fn service_type(service: &Value) -> &str {
    match object::text(service, &["spec", "type"]) {
        "" => "ClusterIP",
        other => other,
    }
}

fn is_external_name(service: &Value) -> bool {
    service_type(service) == "ExternalName"
}

fn is_headless(service: &Value) -> bool {
    addresses_or_none(service).first().is_some_and(|first| first == NONE)
}

pub(super) fn needs_address(service: &Value) -> bool {
    !is_external_name(service) && !is_headless(service)
}

pub(super) fn needs_node_ports(service: &Value) -> bool {
    matches!(service_type(service), "NodePort" | "LoadBalancer")
}

/// A load balancer may do without node ports.
pub(super) fn allocates_node_ports(service: &Value) -> bool {
    let refused =
        object::at(service, &["spec", "allocateLoadBalancerNodePorts"]) == Some(&Value::Bool(false));
    !(service_type(service) == "LoadBalancer" && refused)
}

pub(super) fn needs_health_port(service: &Value) -> bool {
    service_type(service) == "LoadBalancer"
        && object::text(service, &["spec", "externalTrafficPolicy"]) == "Local"
}

pub(super) fn families(service: &Value) -> Vec<Family> {
    let names = object::at(service, &["spec", "ipFamilies"]).and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).filter_map(Family::named).collect()
}

/// The addresses that are named; `None` is not one.
pub(super) fn addresses(service: &Value) -> Vec<String> {
    addresses_or_none(service).into_iter().filter(|text| text != NONE).collect()
}

fn addresses_or_none(service: &Value) -> Vec<String> {
    let list = object::at(service, &["spec", "clusterIPs"]).and_then(Value::as_array).into_iter().flatten();
    let many: Vec<String> = list.filter_map(Value::as_str).map(str::to_owned).collect();
    match object::text(service, &["spec", "clusterIP"]) {
        one if many.is_empty() && !one.is_empty() => vec![one.to_owned()],
        _ => many,
    }
}

pub(super) fn set_addresses(service: &mut Value, addresses: Vec<String>) {
    let spec = object::map_mut(service, "spec");
    if let Some(first) = addresses.first() {
        spec.insert("clusterIP".to_owned(), first.as_str().into());
        spec.insert("clusterIPs".to_owned(), addresses.into());
    }
}

pub(super) fn ports_mut(service: &mut Value) -> &mut [Value] {
    let ports = service.get_mut("spec").and_then(|spec| spec.get_mut("ports")).and_then(Value::as_array_mut);
    ports.map_or(&mut [], Vec::as_mut_slice)
}

pub(super) fn normalise(ranges: &[Range], old: Option<&Value>, new: &mut Value) {
    match old {
        Some(old) => {
            one_and_many(Some(old), new);
            carry_over(old, new);
            drop_left_over(old, new);
        }
        None => one_and_many(None, new),
    }
    set_families(ranges, new);
}

/// `clusterIP` is the first of `clusterIPs`; whoever changes one means both.
fn one_and_many(old: Option<&Value>, new: &mut Value) {
    let one = object::text(new, &["spec", "clusterIP"]).to_owned();
    let many = object::at(new, &["spec", "clusterIPs"]).cloned();
    let spec = object::map_mut(new, "spec");
    let changed =
        |field: &str, now: Option<&Value>| old.is_some_and(|old| object::at(old, &["spec", field]) != now);
    match (&*one, &many) {
        ("", None) => {}
        ("", Some(list)) if old.is_none() => {
            if let Some(first) = list.get(0) {
                spec.insert("clusterIP".to_owned(), first.clone());
            }
        }
        // A client that knows only the one field and clears it means both.
        ("", Some(_)) if !changed("clusterIPs", many.as_ref()) => {
            spec.remove("clusterIPs");
        }
        ("", Some(_)) => {}
        (_, None) => {
            spec.insert("clusterIPs".to_owned(), json!([one]));
        }
        (_, Some(_))
            if changed("clusterIP", Some(&one.as_str().into())) && !changed("clusterIPs", many.as_ref()) =>
        {
            spec.insert("clusterIPs".to_owned(), json!([one]));
        }
        _ => {}
    }
}

/// What was allocated and is left out of an update stays.
fn carry_over(old: &Value, new: &mut Value) {
    if !is_external_name(old) && !is_external_name(new) && addresses_or_none(new).is_empty() {
        let spec = object::map_mut(new, "spec");
        for field in ["clusterIP", "clusterIPs"] {
            object::carry(spec, object::at(old, &["spec", field]), field);
        }
    }
    if !is_external_name(old) && !is_external_name(new) {
        let spec = object::map_mut(new, "spec");
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if !spec.contains_key(field) {
                object::carry(spec, object::at(old, &["spec", field]), field);
            }
        }
    }
    if needs_node_ports(old) && needs_node_ports(new) {
        let known = object::at(old, &["spec", "ports"]).cloned().unwrap_or_default();
        let used: Vec<Value> =
            ports_mut(new).iter().filter_map(|port| port.get("nodePort").cloned()).collect();
        for port in ports_mut(new) {
            let same = |before: &&Value| {
                ["protocol", "port"].iter().all(|field| before.get(field) == port.get(field))
            };
            let before =
                known.as_array().into_iter().flatten().find(same).and_then(|before| before.get("nodePort"));
            if port.get("nodePort").is_none()
                && let Some(number) = before.filter(|number| !used.contains(number))
            {
                object::as_map(port).insert("nodePort".to_owned(), number.clone());
            }
        }
    }
    if needs_health_port(old) && needs_health_port(new) {
        let spec = object::map_mut(new, "spec");
        if !spec.contains_key("healthCheckNodePort") {
            object::carry(spec, object::at(old, &["spec", "healthCheckNodePort"]), "healthCheckNodePort");
        }
    }
}

/// What the old type had and the new one can't have goes, if the writer only left it in.
fn drop_left_over(old: &Value, new: &mut Value) {
    if needs_node_ports(old) && !needs_node_ports(new) {
        for port in ports_mut(new) {
            object::as_map(port).remove("nodePort");
        }
        object::map_mut(new, "spec").remove("externalTrafficPolicy");
    }
    let left: &[&str] = if is_external_name(new) && !is_external_name(old) {
        &["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]
    } else {
        &[]
    };
    let health = needs_health_port(old) && !needs_health_port(new);
    let balancer = service_type(old) == "LoadBalancer" && service_type(new) != "LoadBalancer";
    let spec = object::map_mut(new, "spec");
    for field in left.iter().copied().chain(health.then_some("healthCheckNodePort")) {
        spec.remove(field);
    }
    for field in
        balancer.then_some(["allocateLoadBalancerNodePorts", "loadBalancerClass"]).into_iter().flatten()
    {
        spec.remove(field);
    }
}

/// Families and policy follow from what the cluster has and from what was said.
fn set_families(ranges: &[Range], service: &mut Value) {
    if is_external_name(service) {
        return;
    }
    let Some(primary) = ranges.first().map(Range::family) else { return };
    let dual = ranges.len() > 1;
    let mut known = families(service);
    let policy = object::text(service, &["spec", "ipFamilyPolicy"]).to_owned();
    let selectorless = object::at(service, &["spec", "selector"])
        .and_then(Value::as_object)
        .is_none_or(|map| map.is_empty());
    let free = is_headless(service) && selectorless;
    if known.is_empty() {
        let named = addresses(service).first().and_then(|text| text.parse::<std::net::IpAddr>().ok());
        let first = named.map_or(primary, |address| if address.is_ipv4() { Family::V4 } else { Family::V6 });
        known.push(first);
        if free && policy != "SingleStack" {
            known.push(first.other());
        }
    }
    let policy = match policy.as_str() {
        "" if free => "RequireDualStack",
        "" if known.len() > 1 || addresses(service).len() > 1 => "RequireDualStack",
        "" => "SingleStack",
        said => said,
    };
    if known.len() == 1 && (policy == "RequireDualStack" || policy == "PreferDualStack") && (dual || free) {
        let first = known.first().copied().unwrap_or(primary);
        known.push(first.other());
    }
    let names: Vec<&str> = known.iter().map(|family| family.name()).collect();
    let spec = object::map_mut(service, "spec");
    spec.insert("ipFamilyPolicy".to_owned(), policy.into());
    spec.insert("ipFamilies".to_owned(), names.into());
}
