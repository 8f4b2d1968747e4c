//! Ingresses, network policies and the addresses of services as rows.

use serde_json::Value;

use super::selector::selector;
use super::services::balancer;
use super::{Column, Printer, age, count, items, joined, name, text, text_or};

pub(super) fn printer(kind: &str) -> Option<Printer> {
    Some(match kind {
        "Ingress" => INGRESS,
        "IngressClass" => INGRESS_CLASS,
        "NetworkPolicy" => POLICY,
        "IPAddress" => IP_ADDRESS,
        "ServiceCIDR" => SERVICE_CIDR,
        _ => return None,
    })
}

const INGRESS: Printer = Printer::new(
    &[
        Column::name(),
        Column::text("Class"),
        Column::text("Hosts"),
        Column::text("Address"),
        Column::text("Ports"),
        Column::age(),
    ],
    |object, now| {
        let spec = &object["spec"];
        let addresses = balancer(&object["status"]["loadBalancer"]);
        vec![
            name(object),
            text_or(&spec["ingressClassName"], "<none>"),
            hosts(&spec["rules"]).into(),
            joined(addresses.iter().map(String::as_str), ",").into(),
            if count(&spec["tls"]) > 0 { "80, 443" } else { "80" }.into(),
            age(object, now),
        ]
    },
);

const INGRESS_CLASS: Printer = Printer::new(
    &[Column::name(), Column::text("Controller"), Column::text("Parameters"), Column::age()],
    |object, now| {
        let spec = &object["spec"];
        vec![
            marked(object, &["ingressclass.kubernetes.io/is-default-class"]).into(),
            text(&spec["controller"]),
            parameters(&spec["parameters"]).into(),
            age(object, now),
        ]
    },
);

const POLICY: Printer =
    Printer::new(&[Column::name(), Column::text("Pod-Selector"), Column::age()], |object, now| {
        vec![name(object), selector(&object["spec"]["podSelector"]).into(), age(object, now)]
    });

// Upstream fills an age that it names no column for; clients that count cells rely on neither.
const IP_ADDRESS: Printer = Printer::new(&[Column::name(), Column::text("ParentRef")], |object, now| {
    vec![name(object), parent(&object["spec"]["parentRef"]).into(), age(object, now)]
});

const SERVICE_CIDR: Printer =
    Printer::new(&[Column::name(), Column::text("CIDRs"), Column::age()], |object, now| {
        let cidrs = joined(items(&object["spec"]["cidrs"]).iter().filter_map(Value::as_str), ",");
        vec![name(object), cidrs.into(), age(object, now)]
    });

/// The name, with a note where an annotation makes it the default of its kind.
pub(super) fn marked(object: &Value, annotations: &[&str]) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let is_default = annotations.iter().any(|key| object["metadata"]["annotations"][key] == "true");
    if is_default { format!("{name} (default)") } else { name.to_owned() }
}

/// The first three hosts; `*` where no rule names one.
fn hosts(rules: &Value) -> String {
    let rules = items(rules);
    let named = |rule: &Value| rule["host"].as_str().filter(|host| !host.is_empty()).map(str::to_owned);
    let mut shown = Vec::new();
    for rule in rules {
        if shown.len() == 3 {
            return format!("{} + {} more...", shown.join(","), rules.len() - 3);
        }
        shown.extend(named(rule));
    }
    if shown.is_empty() { "*".to_owned() } else { shown.join(",") }
}

fn parameters(parameters: &Value) -> String {
    if !parameters.is_object() {
        return "<none>".to_owned();
    }
    let part = |field: &str| parameters[field].as_str().unwrap_or_default();
    let group = parameters["apiGroup"].as_str().map_or_else(String::new, |group| format!(".{group}"));
    format!("{}{group}/{}", part("kind"), part("name"))
}

/// `services/default/kubernetes`
fn parent(reference: &Value) -> String {
    if !reference.is_object() {
        return "<none>".to_owned();
    }
    let part = |field: &str| reference[field].as_str().filter(|text| !text.is_empty());
    let mut text = part("resource").unwrap_or_default().to_lowercase();
    if let Some(group) = part("group") {
        text = format!("{text}.{}", group.to_lowercase());
    }
    for step in [part("namespace"), Some(part("name").unwrap_or_default())].into_iter().flatten() {
        text = format!("{text}/{step}");
    }
    text
}
