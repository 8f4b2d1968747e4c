//! What may change in a Service, and in its status.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::check::{balancer_point, is_headless, needs_health_check};
use crate::strategies::fields::{at, list, number, text};

/// An address that was given stays, unless the service stops or starts having one.
pub(super) fn spec(errors: &mut Errors, new: &Value, old: &Value) {
    let (now, before) = (at(new, "spec"), at(old, "spec"));
    let path = Path::root("spec");
    if text(now, "type") != "ExternalName" && text(before, "type") != "ExternalName" {
        let (addresses, given) = (list(now, "clusterIPs"), list(before, "clusterIPs"));
        let shown = at(now, "clusterIPs");
        let at_addresses = path.child("clusterIPs");
        if addresses.is_empty() && !given.is_empty() {
            errors.invalid(&at_addresses.index(0), shown, "primary clusterIP can not be unset");
        }
        for (i, (address, given)) in addresses.iter().zip(given).enumerate() {
            if address != given {
                errors.invalid(&at_addresses.index(i), shown, "may not change once set");
            }
        }
        if given.len() > 1 && addresses.len() == 1 && text(now, "ipFamilyPolicy") != "SingleStack" {
            let detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
            errors.invalid(&path.child("ipFamilyPolicy"), at(now, "ipFamilyPolicy"), detail);
        }
        let (family, first) = (list(now, "ipFamilies").first(), list(before, "ipFamilies").first());
        if !is_headless(now) && !is_headless(before) && family.is_some() && first.is_some() && family != first
        {
            errors.invalid(
                &path.child("ipFamilies").index(0),
                at(now, "ipFamilies"),
                "may not change once set",
            );
        }
    }
    let balanced = |spec: &Value| text(spec, "type") == "LoadBalancer";
    if balanced(now) && balanced(before) && at(now, "loadBalancerClass") != at(before, "loadBalancerClass") {
        errors.invalid(
            &path.child("loadBalancerClass"),
            at(now, "loadBalancerClass"),
            "may not change once set",
        );
    }
    if needs_health_check(now)
        && needs_health_check(before)
        && number(now, "healthCheckNodePort") != number(before, "healthCheckNodePort")
    {
        errors.forbidden(&path.child("healthCheckNodePort"), "field is immutable");
    }
}

pub(super) fn status(errors: &mut Errors, service: &Value) {
    let path = Path::root("status");
    let path = path.child("loadBalancer");
    let path = path.child("ingress");
    let points = list(at(at(service, "status"), "loadBalancer"), "ingress");
    if !points.is_empty() && text(at(service, "spec"), "type") != "LoadBalancer" {
        return errors.forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'");
    }
    for (i, point) in points.iter().enumerate() {
        balancer_point(errors, &path.index(i), point);
    }
}
