//! Nodes, namespaces and component statuses as rows.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Column, Printer, age, condition, flag, items, joined, name, text, text_or};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    match kind {
        "Node" => Some(NODE),
        "Namespace" => Some(NAMESPACE),
        "ComponentStatus" => Some(COMPONENT),
        _ => None,
    }
}

const NODE: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Status"),
        Column::text("Roles"),
        Column::age(),
        Column::text("Version"),
        Column::text("Internal-IP").wide(),
        Column::text("External-IP").wide(),
        Column::text("OS-Image").wide(),
        Column::text("Kernel-Version").wide(),
        Column::text("Container-Runtime").wide(),
    ],
    |object, now| {
        let info = &object["status"]["nodeInfo"];
        vec![
            name(object),
            status(object).into(),
            roles(object).into(),
            age(object, now),
            text(&info["kubeletVersion"]),
            address(object, "InternalIP"),
            address(object, "ExternalIP"),
            text_or(&info["osImage"], "<unknown>"),
            kernel(info).into(),
            text_or(&info["containerRuntimeVersion"], "<unknown>"),
        ]
    },
);

const NAMESPACE: Printer =
    Printer::new(&[Column::name(), Column::text("Status"), Column::age()], |object, now| {
        vec![name(object), text(&object["status"]["phase"]), age(object, now)]
    });

const COMPONENT: Printer = Printer::new(
    &[Column::name(), Column::text("Status"), Column::text("Message"), Column::text("Error")],
    |object, _| {
        let healthy = condition(&object["conditions"], "Healthy");
        let status = match healthy.map(|one| one["status"] == "True") {
            Some(true) => "Healthy",
            Some(false) => "Unhealthy",
            None => "Unknown",
        };
        let said = |field: &str| healthy.map_or_else(|| "".into(), |one| text(&one[field]));
        vec![name(object), status.into(), said("message"), said("error")]
    },
);

fn status(node: &Value) -> String {
    let ready = match condition(&node["status"]["conditions"], "Ready").map(|one| one["status"] == "True") {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    };
    if flag(&node["spec"]["unschedulable"]) {
        format!("{ready},SchedulingDisabled")
    } else {
        ready.to_owned()
    }
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() { "<none>".to_owned() } else { joined(roles, ",") }
}

fn address(node: &Value, kind: &str) -> Value {
    let found = items(&node["status"]["addresses"]).iter().find(|address| address["type"] == kind);
    found.map_or_else(|| "<none>".into(), |address| text(&address["address"]))
}

/// The kernel's version with the architecture that it runs on.
fn kernel(info: &Value) -> String {
    let known = |field: &str| info[field].as_str().filter(|text| !text.is_empty());
    let version = known("kernelVersion").unwrap_or("<unknown>");
    match known("architecture") {
        Some(architecture) => format!("{version} ({architecture})"),
        None => version.to_owned(),
    }
}
