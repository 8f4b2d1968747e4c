//! Services: ports and policies. Addresses and node ports are handed out by the generic path, not here.

pub(super) mod addresses;
pub(super) mod check;
#[cfg(test)]
mod tests;
mod update;
mod warnings;

use kedge_kinds::field::Errors;
use serde_json::{Value, json};

use super::fields::{at, each, fill, fill_text, has, list, number, open, put, take, text};
use crate::strategy::{NameRule, Selectable, Strategy};

pub(super) struct Services;

const CLIENT_AFFINITY_SECONDS: i64 = 10800;

impl Strategy for Services {
    fn default(&self, service: &mut Value) {
        let Some(spec) = open(service, "spec") else { return };
        fill_text(spec, "sessionAffinity", "None");
        match text(spec, "sessionAffinity") {
            "None" => {
                take(spec, "sessionAffinityConfig");
            }
            "ClientIP" if !has(at(at(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds") => {
                put(
                    spec,
                    "sessionAffinityConfig",
                    json!({"clientIP": {"timeoutSeconds": CLIENT_AFFINITY_SECONDS}}),
                );
            }
            _ => {}
        }
        fill_text(spec, "type", "ClusterIP");
        for port in each(spec, "ports") {
            fill_text(port, "protocol", "TCP");
            let target = at(port, "targetPort");
            if target.is_null() || target == &json!(0) || target == &json!("") {
                let same = number(port, "port");
                put(port, "targetPort", same);
            }
        }
        if is_reachable_from_outside(spec) {
            fill_text(spec, "externalTrafficPolicy", "Cluster");
        }
        if text(spec, "type") != "ExternalName" {
            fill(spec, "internalTrafficPolicy", "Cluster");
        }
        let balanced = text(spec, "type") == "LoadBalancer";
        if balanced {
            fill(spec, "allocateLoadBalancerNodePorts", true);
        }
        status(service, balanced);
    }

    fn prepare_create(&self, service: &mut Value) {
        status(service, false);
    }

    fn validate(&self, service: &Value, errors: &mut Errors) {
        check::service(errors, service);
    }

    fn validate_update(&self, new: &Value, old: &Value, errors: &mut Errors) {
        update::spec(errors, new, old);
    }

    fn validate_status(&self, new: &Value, _old: &Value, errors: &mut Errors) {
        update::status(errors, new);
    }

    fn warnings(&self, service: &Value) -> Vec<String> {
        warnings::of(service)
    }

    // Since v1.34 a service may start with a digit.
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn selectable(&self) -> &'static [Selectable] {
        const FIELDS: &[Selectable] = &[
            Selectable { field: "spec.clusterIP", pointer: "/spec/clusterIP", absent: "" },
            Selectable { field: "spec.type", pointer: "/spec/type", absent: "" },
        ];
        FIELDS
    }
}

fn status(service: &mut Value, balanced: bool) {
    let Some(status) = open(service, "status") else { return };
    let Some(balancer) = open(status, "loadBalancer") else { return };
    if balanced {
        for ingress in each(balancer, "ingress") {
            if !text(ingress, "ip").is_empty() {
                fill(ingress, "ipMode", "VIP");
            }
        }
    }
}

fn is_reachable_from_outside(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}
