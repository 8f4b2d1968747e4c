//! Endpoints and EndpointSlices: where a service's traffic may go.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, each, fill, fill_text, list, number, text, texts};
use super::names;
use crate::strategy::Strategy;

pub(super) struct Endpoints;
pub(super) struct EndpointSlices;

const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

impl Strategy for Endpoints {
    fn default(&self, endpoints: &mut Value) {
        for subset in each(endpoints, "subsets") {
            each(subset, "ports").for_each(|port| fill_text(port, "protocol", "TCP"));
        }
    }

    fn validate(&self, endpoints: &Value, errors: &mut Errors) {
        for (i, subset) in list(endpoints, "subsets").iter().enumerate() {
            let path = Path::root("subsets");
            let path = path.index(i);
            if list(subset, "addresses").is_empty() && list(subset, "notReadyAddresses").is_empty() {
                errors.required(&path, "must specify `addresses` or `notReadyAddresses`");
            }
            for field in ["addresses", "notReadyAddresses"] {
                for (j, address) in list(subset, field).iter().enumerate() {
                    old_address(errors, &path.child(field).index(j), address);
                }
            }
            let ports = list(subset, "ports");
            for (j, port) in ports.iter().enumerate() {
                let path = path.child("ports");
                let path = path.index(j);
                match text(port, "name") {
                    "" if ports.len() > 1 => errors.required(&path.child("name"), ""),
                    "" => {}
                    name => names::label(errors, &path.child("name"), name),
                }
                names::port_number(errors, &path.child("port"), number(port, "port"));
                names::one_of(errors, &path.child("protocol"), text(port, "protocol"), PROTOCOLS);
            }
        }
    }

    fn create_on_update(&self) -> bool {
        true
    }
}

fn old_address(errors: &mut Errors, path: &Path<'_>, address: &Value) {
    let ip = text(address, "ip");
    names::address(errors, &path.child("ip"), ip);
    let name = text(address, "hostname");
    if !name.is_empty() {
        names::label(errors, &path.child("hostname"), name);
    }
    if let Some(node) = at(address, "nodeName").as_str() {
        names::subdomain(errors, &path.child("nodeName"), node);
    }
    names::endpoint_address(errors, &path.child("ip"), ip);
}

impl Strategy for EndpointSlices {
    fn default(&self, slice: &mut Value) {
        fill(slice, "endpoints", Value::Null);
        fill(slice, "ports", Value::Null);
        for port in each(slice, "ports") {
            fill(port, "name", "");
            fill(port, "protocol", "TCP");
        }
        each(slice, "endpoints").for_each(|endpoint| fill(endpoint, "conditions", Map::new()));
    }

    fn validate(&self, slice: &Value, errors: &mut Errors) {
        let kind = text(slice, "addressType");
        names::one_of(errors, &Path::root("addressType"), kind, &["FQDN", "IPv4", "IPv6"]);
        ports(errors, slice);
        let endpoints = list(slice, "endpoints");
        let path = Path::root("endpoints");
        if endpoints.len() > 1000 {
            return errors.too_many(&path, endpoints.len(), 1000);
        }
        for (i, endpoint) in endpoints.iter().enumerate() {
            one(errors, &path.index(i), endpoint, kind);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if text(new, "addressType") != text(old, "addressType") {
            errors.invalid(&Path::root("addressType"), at(new, "addressType"), "field is immutable");
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn ports(errors: &mut Errors, slice: &Value) {
    let ports = list(slice, "ports");
    for (i, port) in ports.iter().enumerate() {
        let path = Path::root("ports");
        let path = path.index(i);
        let name = text(port, "name");
        if !name.is_empty() {
            names::label(errors, &path.child("name"), name);
        }
        if ports.iter().take(i).any(|other| text(other, "name") == name) {
            errors.duplicate(&path.child("name"), &name.into());
        }
        names::one_of_if_set(errors, &path.child("protocol"), at(port, "protocol"), PROTOCOLS);
        if let Some(protocol) = at(port, "appProtocol").as_str() {
            names::qualified(errors, &path.child("appProtocol"), protocol);
        }
    }
}

fn one(errors: &mut Errors, path: &Path<'_>, endpoint: &Value, kind: &str) {
    let addresses = list(endpoint, "addresses");
    let at_addresses = path.child("addresses");
    if addresses.is_empty() {
        errors.required(&at_addresses, "must contain at least 1 address");
    } else if addresses.len() > 100 {
        errors.too_many(&at_addresses, addresses.len(), 100);
    }
    for (i, address) in texts(endpoint, "addresses").enumerate() {
        let path = at_addresses.index(i);
        if kind == "FQDN" {
            names::subdomain(errors, &path, address.strip_suffix('.').unwrap_or(address));
        } else if matches!(kind, "IPv4" | "IPv6") {
            match names::parse_address(address) {
                None => names::address(errors, &path, address),
                Some(parsed) => {
                    if parsed.is_ipv4() != (kind == "IPv4") {
                        names::wrong(errors, &at_addresses, address, &format!("must be an {kind} address"));
                    }
                    names::endpoint_address(errors, &path, address);
                }
            }
        }
    }
    if let Some(node) = at(endpoint, "nodeName").as_str() {
        names::subdomain(errors, &path.child("nodeName"), node);
    }
    if let Some(name) = at(endpoint, "hostname").as_str() {
        names::label(errors, &path.child("hostname"), name);
    }
    let zones = list(at(endpoint, "hints"), "forZones");
    if zones.len() > 8 {
        errors.too_many(&path.child("hints").child("forZones"), zones.len(), 8);
    }
}
