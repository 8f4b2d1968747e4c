//! NetworkPolicies.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value, json};

use super::fields::{at, each, fill, has, int, list, open, put, text, texts};
use super::names;
use crate::strategy::Strategy;

pub(super) struct NetworkPolicies;

impl Strategy for NetworkPolicies {
    fn default(&self, policy: &mut Value) {
        let Some(spec) = open(policy, "spec") else { return };
        fill(spec, "podSelector", Map::new());
        for direction in ["ingress", "egress"] {
            for rule in each(spec, direction) {
                each(rule, "ports").for_each(|port| fill(port, "protocol", "TCP"));
            }
        }
        if list(spec, "policyTypes").is_empty() {
            let types = if list(spec, "egress").is_empty() {
                json!(["Ingress"])
            } else {
                json!(["Ingress", "Egress"])
            };
            put(spec, "policyTypes", types);
        }
    }

    fn validate(&self, policy: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(policy, "spec"));
        names::selector(errors, &path.child("podSelector"), at(spec, "podSelector"));
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            for (i, rule) in list(spec, direction).iter().enumerate() {
                let path = path.child(direction);
                let path = path.index(i);
                for (j, one) in list(rule, "ports").iter().enumerate() {
                    port(errors, &path.child("ports").index(j), one);
                }
                for (j, one) in list(rule, peers).iter().enumerate() {
                    peer(errors, &path.child(peers).index(j), one);
                }
            }
        }
        let types = list(spec, "policyTypes");
        if types.len() > 2 {
            let detail = "may not specify more than two policyTypes";
            return errors.invalid(&path.child("policyTypes"), at(spec, "policyTypes"), detail);
        }
        for (i, kind) in types.iter().enumerate() {
            names::one_of_if_set(errors, &path.child("policyTypes").index(i), kind, &["Ingress", "Egress"]);
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn port(errors: &mut Errors, path: &Path<'_>, port: &Value) {
    names::one_of_if_set(errors, &path.child("protocol"), at(port, "protocol"), &["TCP", "UDP", "SCTP"]);
    let (number, last) = (at(port, "port"), int(port, "endPort"));
    let at_last = path.child("endPort");
    match (number, last) {
        (Value::Null, Some(last)) => {
            errors.invalid(&at_last, &last.into(), "may not be specified when `port` is not specified");
        }
        (Value::Null, None) => {}
        (Value::String(name), last) => {
            if let Some(last) = last {
                errors.invalid(&at_last, &last.into(), "may not be specified when `port` is non-numeric");
            }
            names::port_name(errors, &path.child("port"), name);
        }
        (number, last) => {
            let first = number.as_i64().unwrap_or(0);
            names::port_number(errors, &path.child("port"), first);
            if let Some(last) = last {
                if last < first {
                    errors.invalid(&at_last, &first.into(), "must be greater than or equal to `port`");
                }
                names::port_number(errors, &at_last, last);
            }
        }
    }
}

fn peer(errors: &mut Errors, path: &Path<'_>, peer: &Value) {
    let mut found = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if has(peer, field) {
            found += 1;
            names::selector(errors, &path.child(field), at(peer, field));
        }
    }
    if has(peer, "ipBlock") {
        found += 1;
        block(errors, &path.child("ipBlock"), at(peer, "ipBlock"));
    }
    if found == 0 {
        errors.required(path, "must specify a peer");
    } else if found > 1 && has(peer, "ipBlock") {
        errors.forbidden(path, "may not specify both ipBlock and another peer");
    }
}

fn block(errors: &mut Errors, path: &Path<'_>, block: &Value) {
    let whole = text(block, "cidr");
    if whole.is_empty() {
        return errors.required(&path.child("cidr"), "");
    }
    names::range(errors, &path.child("cidr"), whole);
    let Some((address, bits)) = names::parse_range(whole) else { return };
    for (i, part) in texts(block, "except").enumerate() {
        let path = path.child("except");
        names::range(errors, &path.index(i), part);
        let Some((inner, inner_bits)) = names::parse_range(part) else { continue };
        if inner_bits <= bits || !names::is_inside(inner, address, bits) {
            names::wrong(errors, &path.index(i), part, "must be a strict subset of `cidr`");
        }
    }
}
