//! Services and the endpoints behind them as rows, in their old and their sliced form.

use std::collections::BTreeSet;

use serde_json::Value;

use super::apps::REPLICATION_CONTROLLER;
use super::selector::labels;
use super::{Column, Printer, age, first_three, items, joined, name, number, text, text_or};

pub(super) fn core(kind: &str) -> Option<Printer> {
    match kind {
        "Service" => Some(SERVICE),
        "Endpoints" => Some(ENDPOINTS),
        "ReplicationController" => Some(REPLICATION_CONTROLLER),
        _ => None,
    }
}

pub(super) fn discovery(kind: &str) -> Option<Printer> {
    (kind == "EndpointSlice").then_some(SLICE)
}

const SERVICE: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Type"),
        Column::text("Cluster-IP"),
        Column::text("External-IP"),
        Column::text("Port(s)"),
        Column::age(),
        Column::text("Selector").wide(),
    ],
    |object, now| {
        let spec = &object["spec"];
        let ports: Vec<String> = items(&spec["ports"]).iter().map(port).collect();
        vec![
            name(object),
            text(&spec["type"]),
            text_or(&spec["clusterIPs"][0], "<none>"),
            external(object).into(),
            if ports.is_empty() { "<none>".into() } else { ports.join(",").into() },
            age(object, now),
            labels(&spec["selector"]).into(),
        ]
    },
);

const ENDPOINTS: Printer =
    Printer::new(&[Column::name(), Column::text("Endpoints"), Column::age()], |object, now| {
        let subsets = items(&object["subsets"]);
        let all: Vec<String> = subsets.iter().flat_map(addresses).collect();
        let otherwise = if subsets.is_empty() { "<none>" } else { "" };
        vec![name(object), first_three(&all, otherwise).into(), age(object, now)]
    });

const SLICE: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("AddressType"),
        Column::text("Ports"),
        Column::text("Endpoints"),
        Column::age(),
    ],
    |object, now| {
        let ports: Vec<String> = items(&object["ports"]).iter().map(slice_port).collect();
        let addresses: Vec<String> = items(&object["endpoints"])
            .iter()
            .flat_map(|endpoint| items(&endpoint["addresses"]))
            .filter_map(|address| address.as_str().map(str::to_owned))
            .collect();
        vec![
            name(object),
            text(&object["addressType"]),
            first_three(&ports, "<unset>").into(),
            first_three(&addresses, "<unset>").into(),
            age(object, now),
        ]
    },
);

fn slice_port(port: &Value) -> String {
    let named = || port["name"].as_str().unwrap_or("*").to_owned();
    port["port"].as_i64().map_or_else(named, |number| number.to_string())
}

/// `80/TCP`, or `80:30080/TCP` where it is also open on the nodes.
fn port(port: &Value) -> String {
    let (inner, protocol) = (number(&port["port"]), port["protocol"].as_str().unwrap_or_default());
    match number(&port["nodePort"]) {
        0 => format!("{inner}/{protocol}"),
        outer => format!("{inner}:{outer}/{protocol}"),
    }
}

fn external(service: &Value) -> String {
    let spec = &service["spec"];
    let own = items(&spec["externalIPs"]).iter().filter_map(Value::as_str);
    let (all, otherwise) = match spec["type"].as_str() {
        Some("ClusterIP" | "NodePort") => (joined(own, ","), "<none>"),
        Some("LoadBalancer") => {
            let balanced = balancer(&service["status"]["loadBalancer"]);
            (joined(balanced.iter().map(String::as_str).chain(own), ","), "<pending>")
        }
        Some("ExternalName") => return spec["externalName"].as_str().unwrap_or_default().to_owned(),
        _ => return "<unknown>".to_owned(),
    };
    if all.is_empty() { otherwise.to_owned() } else { all }
}

/// The addresses at which a load balancer can be reached, sorted, each once.
pub(super) fn balancer(status: &Value) -> BTreeSet<String> {
    let address = |one: &Value| {
        let known = |field: &str| one[field].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        known("ip").or_else(|| known("hostname"))
    };
    items(&status["ingress"]).iter().filter_map(address).collect()
}

/// Every address of a subset with every port, the ports outermost.
fn addresses(subset: &Value) -> Vec<String> {
    let ips = || items(&subset["addresses"]).iter().filter_map(|one| one["ip"].as_str());
    let ports = items(&subset["ports"]);
    if ports.is_empty() {
        return ips().map(str::to_owned).collect();
    }
    let with_port = |ip: &str, port: i64| {
        if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
    };
    ports.iter().flat_map(|port| ips().map(move |ip| with_port(ip, number(&port["port"])))).collect()
}
