//! The standard roles and bindings, from a table of ours.

use kedge_kinds::Status;
use serde_json::{Value, json};

const TABLE: &str = include_str!("roles.txt");
const GROUP: &str = "rbac.authorization.k8s.io";
const AGGREGATE: &str = "rbac.authorization.k8s.io/aggregate-to-";

pub(super) fn objects() -> Result<Vec<Value>, Status> {
    let mut all: Vec<Value> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["role", name, ref rest @ ..] => all.push(role(name, rest)),
            ["bind", name, role, ref subjects @ ..] => all.push(binding(name, role, subjects)),
            _ => {
                let rule =
                    rule(&words).ok_or_else(|| Status::internal(format!("no role has the rule {line:?}")))?;
                if let Some(rules) = all.last_mut().and_then(|role| role["rules"].as_array_mut()) {
                    rules.push(rule);
                }
            }
        }
    }
    gather(&mut all);
    Ok(all)
}

fn metadata(name: &str) -> Value {
    let mut metadata = json!({
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    });
    match name.split_once('/') {
        Some((namespace, name)) => {
            metadata["namespace"] = namespace.into();
            metadata["name"] = name.into();
        }
        None => metadata["name"] = name.into(),
    }
    metadata
}

fn role(name: &str, words: &[&str]) -> Value {
    let kind = if name.contains('/') { "Role" } else { "ClusterRole" };
    let mut metadata = metadata(name);
    let mut role = json!({"kind": kind, "apiVersion": format!("{GROUP}/v1"), "rules": []});
    for pair in words.chunks(2) {
        match pair {
            ["joins", label] => metadata["labels"][format!("{AGGREGATE}{label}")] = "true".into(),
            ["gathers", label] => {
                let labels = json!({format!("{AGGREGATE}{label}"): "true"});
                role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": labels}]});
            }
            _ => {}
        }
    }
    role["metadata"] = metadata;
    role
}

fn rule(words: &[&str]) -> Option<Value> {
    let list = |text: &str| -> Value {
        text.split(',').map(|one| if one == "core" { "" } else { one }).collect::<Vec<_>>().into()
    };
    Some(match *words {
        [verbs, "url", paths] => json!({"verbs": list(verbs), "nonResourceURLs": list(paths)}),
        [verbs, groups, resources] => {
            json!({"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)})
        }
        [verbs, groups, resources, names] => json!({
            "verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources), "resourceNames": list(names),
        }),
        _ => return None,
    })
}

fn binding(name: &str, role: &str, subjects: &[&str]) -> Value {
    let kind = if name.contains('/') { "RoleBinding" } else { "ClusterRoleBinding" };
    let (role_kind, role) = match role.strip_prefix("role:") {
        Some(role) => ("Role", role),
        None => ("ClusterRole", role),
    };
    let subjects: Vec<Value> = subjects.iter().filter_map(|text| subject(text)).collect();
    let mut binding = json!({
        "kind": kind, "apiVersion": format!("{GROUP}/v1"), "metadata": metadata(name),
        "roleRef": {"apiGroup": GROUP, "kind": role_kind, "name": role},
    });
    if !subjects.is_empty() {
        binding["subjects"] = subjects.into();
    }
    binding
}

fn subject(text: &str) -> Option<Value> {
    let (kind, name) = text.split_once(':')?;
    Some(match kind {
        "user" => json!({"apiGroup": GROUP, "kind": "User", "name": name}),
        "group" => json!({"apiGroup": GROUP, "kind": "Group", "name": name}),
        _ => {
            let (namespace, name) = name.split_once('/')?;
            json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
        }
    })
}

/// Roles that gather others start with what those allow now, so that nobody waits for a controller to fill them.
fn gather(all: &mut [Value]) {
    // `view` is part of `edit` and `edit` of `admin`: three rounds settle it.
    for _ in 0..3 {
        for at in 0..all.len() {
            let Some(wanted) = gathered_label(&all[at]) else { continue };
            let mut rules: Vec<Value> = Vec::new();
            for role in all.iter().filter(|role| role["metadata"]["labels"].get(&wanted).is_some()) {
                for rule in role["rules"].as_array().into_iter().flatten() {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
            all[at]["rules"] = rules.into();
        }
    }
}

fn gathered_label(role: &Value) -> Option<String> {
    let labels = role.get("aggregationRule")?["clusterRoleSelectors"][0]["matchLabels"].as_object()?;
    labels.keys().next().cloned()
}
