//! Which quality of service a pod has: a fact that follows from its requests and limits alone.

use serde_json::Value;

use crate::strategies::fields::{at, has, list, map};

/// The two resources that decide it.
const COUNTED: [&str; 2] = ["cpu", "memory"];

pub(super) fn class(spec: &Value) -> &'static str {
    // Where the pod as a whole asks, its containers are not looked at.
    if has(spec, "resources") {
        return class_of([at(spec, "resources")].into_iter());
    }
    let containers = list(spec, "containers").iter().chain(list(spec, "initContainers"));
    class_of(containers.map(|container| at(container, "resources")))
}

fn class_of<'a>(resources: impl Iterator<Item = &'a Value>) -> &'static str {
    let (mut asked, mut guaranteed) = (false, true);
    for resource in resources {
        let (requests, limits) = (map(resource, "requests"), map(resource, "limits"));
        for name in COUNTED {
            let (request, limit) = (requests.get(name), limits.get(name));
            asked |= request.or(limit).is_some_and(|amount| !is_nothing(amount));
            guaranteed &=
                limit.is_some_and(|limit| !is_nothing(limit)) && (request.is_none() || request == limit);
        }
    }
    match (asked, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

fn is_nothing(amount: &Value) -> bool {
    amount.as_i64() == Some(0) || amount.as_str() == Some("0")
}
