//! Things in a pod's spec that are legal and yet rarely meant: sent back as warnings, for pods and templates.

use kedge_kinds::field::Path;
use serde_json::Value;

use crate::strategies::amounts::amount;
use crate::strategies::fields::{at, has, int, list, map, number, text};

/// Sources that are kept in the API and do nothing any more.
const GONE: &[(&str, &str)] = &[
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];
/// Labels of nodes that got another name.
const OLD_LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
];
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

pub(in crate::strategies) fn of_spec(path: &Path<'_>, spec: &Value, found: &mut Vec<String>) {
    for key in map(spec, "nodeSelector").keys() {
        if let Some((_, message)) = OLD_LABELS.iter().find(|(label, _)| label == key) {
            found.push(format!("{}: {message}", path.child("nodeSelector").key(key)));
        }
    }
    for (i, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let path = path.child("topologySpreadConstraints");
        let path = path.index(i);
        let key = text(constraint, "topologyKey");
        if let Some((_, message)) = OLD_LABELS.iter().find(|(label, _)| *label == key) {
            found.push(format!("{}: {key} is {message}", path.child("topologyKey")));
        }
        if !has(constraint, "labelSelector") {
            found.push(format!(
                "{}: a null labelSelector results in matching no pod",
                path.child("labelSelector")
            ));
        }
    }
    for (i, volume) in list(spec, "volumes").iter().enumerate() {
        let Value::Object(fields) = volume else { continue };
        for field in fields.keys() {
            if let Some((source, message)) = GONE.iter().find(|(source, _)| source == field) {
                found.push(format!("{}: {message}", path.child("volumes").index(i).child(source)));
            }
        }
    }
    repeated(path, spec, "hostAliases", "ip", found);
    repeated(path, spec, "imagePullSecrets", "name", found);
    for (i, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            let path = path.child("imagePullSecrets");
            found.push(format!("{}: invalid empty name \"\"", path.index(i).child("name")));
        }
    }
    for field in CONTAINERS {
        for (i, container) in list(spec, field).iter().enumerate() {
            of_container(&path.child(field).index(i), container, found);
        }
    }
    ports(path, spec, found);
    if int(spec, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0) {
        let path = path.child("terminationGracePeriodSeconds");
        found.push(format!("{path}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
}

fn repeated(path: &Path<'_>, spec: &Value, field: &str, name: &str, found: &mut Vec<String>) {
    let items = list(spec, field);
    for (i, item) in items.iter().enumerate() {
        let value = text(item, name);
        if items.iter().take(i).any(|other| text(other, name) == value) {
            found.push(format!("{}: duplicate {name} {value:?}", path.child(field).index(i).child(name)));
        }
    }
}

fn of_container(path: &Path<'_>, container: &Value, found: &mut Vec<String>) {
    for resource in ["memory", "ephemeral-storage"] {
        for field in ["limits", "requests"] {
            let Some(value) = map(at(container, "resources"), field).get(resource) else { continue };
            // Only text with a point or a small suffix can be a fraction of a byte; the others need no parsing.
            if value.as_str().is_none_or(|text| !text.ends_with(['m', 'u', 'n']) && !text.contains('.')) {
                continue;
            }
            let amount = amount(value);
            if !amount.is_whole() {
                let path = path.child("resources");
                let path = path.child(field);
                let path = path.key(resource);
                found.push(format!(
                    "{path}: fractional byte value \"{amount}\" is invalid, must be an integer"
                ));
            }
        }
    }
    let variables = list(container, "env");
    let names: Vec<&str> = variables.iter().map(|variable| text(variable, "name")).collect();
    for (i, (variable, name)) in variables.iter().zip(&names).enumerate() {
        if !names.iter().take(i).any(|other| other == name) {
            continue;
        }
        // `PATH=/x:$(PATH)` builds on the earlier one; anything else hides it.
        let (value, reference) = (text(variable, "value"), format!("$({name})"));
        if has(variable, "valueFrom") || value == reference || !value.contains(&reference) {
            let path = path.child("env");
            let path = path.index(i);
            found.push(format!(
                "{path}: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

fn ports(path: &Path<'_>, spec: &Value, found: &mut Vec<String>) {
    let mut seen: Vec<(&str, usize, usize, &Value)> = Vec::new();
    let mut by_name = Vec::new();
    for field in CONTAINERS {
        for (i, container) in list(spec, field).iter().enumerate() {
            for (j, port) in list(container, "ports").iter().enumerate() {
                let here = || format!("{}", path.child(field).index(i).child("ports").index(j));
                for (other_field, k, l, other) in &seen {
                    let same_port = number(port, "containerPort") == number(other, "containerPort")
                        && text(port, "protocol") == text(other, "protocol");
                    let there = || format!("{}", path.child(other_field).index(*k).child("ports").index(*l));
                    if same_port && let Some(how) = clash(port, other) {
                        found.push(format!("{}: {how} port definition with {}", here(), there()));
                    }
                    let name = text(port, "name");
                    if !name.is_empty() && name == text(other, "name") {
                        by_name.push(format!(
                            "{}: duplicate port name {name:?} with {}, services and probes that select ports by name \
                             will use {}",
                            here(),
                            there(),
                            there()
                        ));
                    }
                }
                seen.push((field, i, j, port));
            }
        }
    }
    found.extend(by_name);
}

fn clash(one: &Value, other: &Value) -> Option<&'static str> {
    let (address, other_address) = (text(one, "hostIP"), text(other, "hostIP"));
    let (host, other_host) = (number(one, "hostPort"), number(other, "hostPort"));
    if address == other_address && host == other_host {
        Some("duplicate")
    } else if host == 0 || other_host == 0 {
        Some("overlapping")
    } else if host == other_host && address.is_empty() != other_address.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}
