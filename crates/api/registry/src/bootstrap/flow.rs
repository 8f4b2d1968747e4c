//! Flow control's levels and flows, from a table of ours.

use kedge_kinds::Status;
use serde_json::{Value, json};

const TABLE: &str = include_str!("flow.txt");
const VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";

pub(super) fn objects(now: &str) -> Result<Vec<Value>, Status> {
    let mut all: Vec<Value> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["level", name, ref rest @ ..] => all.push(level(name, rest)),
            ["flow", name, level, precedence, ref rest @ ..] => {
                all.push(flow(name, level, precedence, rest, now))
            }
            _ => {
                if let Some(rules) = all.last_mut().and_then(|flow| flow["spec"]["rules"].as_array_mut()) {
                    rules.push(rule(line));
                }
            }
        }
    }
    Ok(all)
}

fn number(text: &str) -> Value {
    text.parse::<i64>().unwrap_or(0).into()
}

fn metadata(name: &str) -> Value {
    json!({"name": name, "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"}})
}

fn level(name: &str, words: &[&str]) -> Value {
    let spec = match *words {
        [shares, lendable, "exempt"] => json!({
            "type": "Exempt", "exempt": {"nominalConcurrencyShares": number(shares), "lendablePercent": number(lendable)},
        }),
        [shares, lendable, queues, hand, length] => {
            let queuing = json!({"queues": number(queues), "handSize": number(hand), "queueLengthLimit": number(length)});
            json!({"type": "Limited", "limited": {
                "nominalConcurrencyShares": number(shares), "lendablePercent": number(lendable),
                "limitResponse": {"type": "Queue", "queuing": queuing},
            }})
        }
        [shares, lendable, ..] => json!({"type": "Limited", "limited": {
            "nominalConcurrencyShares": number(shares), "lendablePercent": number(lendable),
            "limitResponse": {"type": "Reject"},
        }}),
        _ => json!({"type": "Exempt"}),
    };
    json!({"kind": "PriorityLevelConfiguration", "apiVersion": VERSION, "metadata": metadata(name), "spec": spec})
}

fn flow(name: &str, level: &str, precedence: &str, words: &[&str], now: &str) -> Value {
    let mut spec = json!({
        "matchingPrecedence": number(precedence), "priorityLevelConfiguration": {"name": level}, "rules": [],
    });
    match *words {
        ["by", "user"] => spec["distinguisherMethod"] = json!({"type": "ByUser"}),
        ["by", "namespace"] => spec["distinguisherMethod"] = json!({"type": "ByNamespace"}),
        _ => {}
    }
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named \"{level}\" and it exists"
    );
    let condition = json!({
        "type": "Dangling", "status": "False", "reason": "Found", "message": message, "lastTransitionTime": now,
    });
    json!({
        "kind": "FlowSchema", "apiVersion": VERSION, "metadata": metadata(name), "spec": spec,
        "status": {"conditions": [condition]},
    })
}

fn rule(line: &str) -> Value {
    let mut parts = line.split('|');
    let subjects: Vec<Value> =
        parts.next().unwrap_or_default().split_whitespace().filter_map(subject).collect();
    let mut rule = json!({"subjects": subjects});
    let list = |text: &str| -> Value {
        text.split(',').map(|one| if one == "core" { "" } else { one }).collect::<Vec<_>>().into()
    };
    for part in parts {
        let words: Vec<&str> = part.split_whitespace().collect();
        let (field, one) = match words[..] {
            [verbs, "url", paths] => {
                ("nonResourceRules", json!({"verbs": list(verbs), "nonResourceURLs": list(paths)}))
            }
            [verbs, groups, resources, ref scope @ ..] => {
                let mut one =
                    json!({"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)});
                if let ["in", namespaces, ..] = scope {
                    one["namespaces"] = list(namespaces);
                }
                if scope.last() == Some(&"cluster") {
                    one["clusterScope"] = true.into();
                }
                ("resourceRules", one)
            }
            _ => continue,
        };
        match rule[field].as_array_mut() {
            Some(all) => all.push(one),
            None => rule[field] = json!([one]),
        }
    }
    rule
}

fn subject(text: &str) -> Option<Value> {
    let (kind, name) = text.split_once(':')?;
    Some(match kind {
        "user" => json!({"kind": "User", "user": {"name": name}}),
        "group" => json!({"kind": "Group", "group": {"name": name}}),
        _ => {
            let (namespace, name) = name.split_once('/')?;
            json!({"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}})
        }
    })
}
