//! Services and who stands behind them.

use serde_json::Value;

use super::page::Page;
use super::shown::{host_port, is_there, items, joined, labels, number, plain, plain_or, text};
use super::{Given, labels_and_annotations, name_and_namespace};

/// So many addresses are told; the others are counted.
const MOST_ENDPOINTS: usize = 3;

pub(super) fn service(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    let spec = &object["spec"];
    name_and_namespace(page, object);
    labels_and_annotations(page, object);
    page.field(0, "Selector", labels(&spec["selector"]));
    page.field(0, "Type", text(&spec["type"]));
    if is_there(&spec["ipFamilyPolicy"]) {
        page.field(0, "IP Family Policy", text(&spec["ipFamilyPolicy"]));
    }
    let or_none = |list: &Value| if is_there(list) { joined(list, ",") } else { "<none>".to_owned() };
    page.field(0, "IP Families", or_none(&spec["ipFamilies"]));
    page.field(0, "IP", text(&spec["clusterIP"]));
    page.field(0, "IPs", or_none(&spec["clusterIPs"]));
    if is_there(&spec["externalIPs"]) {
        page.field(0, "External IPs", joined(&spec["externalIPs"], ","));
    }
    for (label, field) in [("Desired LoadBalancer IP", "loadBalancerIP"), ("External Name", "externalName")] {
        if is_there(&spec[field]) {
            page.field(0, label, text(&spec[field]));
        }
    }
    let balancers = items(&object["status"]["loadBalancer"]["ingress"]);
    if !balancers.is_empty() {
        let written: Vec<String> = balancers.iter().map(balancer).collect();
        page.field(0, "LoadBalancer Ingress", written.join(", "));
    }
    for port in items(&spec["ports"]) {
        service_port(page, port, &given.related.slices);
    }
    page.field(0, "Session Affinity", text(&spec["sessionAffinity"]));
    for (label, field) in [
        ("External Traffic Policy", "externalTrafficPolicy"),
        ("Internal Traffic Policy", "internalTrafficPolicy"),
        ("HealthCheck NodePort", "healthCheckNodePort"),
    ] {
        if is_there(&spec[field]) {
            page.field(0, label, plain(&spec[field]));
        }
    }
    if is_there(&spec["loadBalancerSourceRanges"]) {
        page.field(0, "LoadBalancer Source Ranges", joined(&spec["loadBalancerSourceRanges"], ","));
    }
    if is_there(&spec["trafficDistribution"]) {
        page.field(0, "Traffic Distribution", text(&spec["trafficDistribution"]));
    }
}

fn balancer(one: &Value) -> String {
    match (text(&one["ip"]), text(&one["ipMode"])) {
        ("", _) => text(&one["hostname"]).to_owned(),
        (ip, "") => ip.to_owned(),
        (ip, mode) => format!("{ip} ({mode})"),
    }
}

fn service_port(page: &mut Page, port: &Value, slices: &[Value]) {
    let name = plain_or(&port["name"], "<unset>");
    let protocol = text(&port["protocol"]);
    page.field(0, "Port", format_args!("{name}\t{}/{protocol}", number(&port["port"])));
    page.field(0, "TargetPort", format_args!("{}/{protocol}", plain(&port["targetPort"])));
    if is_there(&port["appProtocol"]) {
        page.field(0, "AppProtocol", text(&port["appProtocol"]));
    }
    if number(&port["nodePort"]) != 0 {
        page.field(0, "NodePort", format_args!("{name}\t{}/{protocol}", number(&port["nodePort"])));
    }
    page.field(0, "Endpoints", ready_addresses(slices, text(&port["name"])));
}

/// Ready addresses behind the port of this name.
pub(super) fn ready_addresses(slices: &[Value], port: &str) -> String {
    if slices.is_empty() {
        return "<none>".to_owned();
    }
    let mut addresses = Vec::new();
    for slice in slices {
        let ready = || {
            let endpoints = items(&slice["endpoints"]).iter();
            endpoints.filter(|one| one["conditions"]["ready"] != false).map(|one| text(&one["addresses"][0]))
        };
        if !is_there(&slice["ports"]) {
            addresses.extend(ready().map(str::to_owned));
        }
        for one in items(&slice["ports"]).iter().filter(|one| text(&one["name"]) == port) {
            addresses.extend(ready().map(|address| host_port(address, &plain(&one["port"]))));
        }
    }
    let more = addresses.len().saturating_sub(MOST_ENDPOINTS);
    addresses.truncate(MOST_ENDPOINTS);
    match more {
        0 => addresses.join(","),
        more => format!("{} + {more} more...", addresses.join(",")),
    }
}

pub(super) fn endpoints(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name_and_namespace(page, object);
    labels_and_annotations(page, object);
    page.head(0, "Subsets");
    for subset in items(&object["subsets"]) {
        for (label, field) in [("Addresses", "addresses"), ("NotReadyAddresses", "notReadyAddresses")] {
            let addresses: Vec<&str> = items(&subset[field]).iter().map(|one| text(&one["ip"])).collect();
            let written = if addresses.is_empty() { "<none>".to_owned() } else { addresses.join(",") };
            page.field(1, label, written);
        }
        if is_there(&subset["ports"]) {
            page.head(1, "Ports");
            ports(page, 2, &subset["ports"]);
        }
        page.line(0, "");
    }
}

fn ports(page: &mut Page, level: usize, ports: &Value) {
    page.columns(level, &["Name", "Port", "Protocol"]);
    for port in items(ports) {
        let (name, number) = (plain_or(&port["name"], "<unset>"), plain_or(&port["port"], "<unset>"));
        page.line(level, format_args!("{name}\t{number}\t{}", text(&port["protocol"])));
    }
}

pub(super) fn slice(page: &mut Page, given: &Given<'_>) {
    let object = given.object;
    name_and_namespace(page, object);
    labels_and_annotations(page, object);
    page.field(0, "AddressType", text(&object["addressType"]));
    if is_there(&object["ports"]) {
        page.head(0, "Ports");
        ports(page, 1, &object["ports"]);
    } else {
        page.line(0, "Ports: <unset>");
    }
    if !is_there(&object["endpoints"]) {
        page.line(0, "Endpoints: <none>");
        return;
    }
    page.head(0, "Endpoints");
    for endpoint in items(&object["endpoints"]) {
        let addresses = joined(&endpoint["addresses"], ", ");
        let addresses = if addresses.is_empty() { "<none>" } else { &addresses };
        page.field(1, "- Addresses", addresses);
        page.head(2, "Conditions");
        page.field(3, "Ready", plain_or(&endpoint["conditions"]["ready"], "<unset>"));
        page.field(2, "Hostname", plain_or(&endpoint["hostname"], "<unset>"));
        let target = &endpoint["targetRef"];
        if is_there(target) {
            page.field(2, "TargetRef", format_args!("{}/{}", text(&target["kind"]), text(&target["name"])));
        }
        page.field(2, "NodeName", plain_or(&endpoint["nodeName"], "<unset>"));
        page.field(2, "Zone", plain_or(&endpoint["zone"], "<unset>"));
    }
}
