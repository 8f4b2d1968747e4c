//! Sends the steps of a topic to a server, in order, and takes away what they made. Knows no kind; a namespace
//! is the one exception, since every topic gets one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::normal::normalise;
use crate::server::{Call, Reply};
use crate::{AgreementError, Answer, Server, Step, Topic};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// Runs a topic and gives the normalised answers.
pub async fn run(server: &Server, topic: &Topic) -> Result<Vec<Answer>, AgreementError> {
    let namespace = topic.namespace();
    // The label is what a namespace always gets; naming it here keeps topics independent of that rule.
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    send(server, "namespace", "POST", "/api/v1/namespaces", Some(made)).await?;

    let mut seen: BTreeMap<&str, Value> = BTreeMap::new();
    let mut leftovers = Vec::new();
    let mut answers = Vec::new();
    for step in &topic.file.steps {
        let path = fill(step, &step.path, &namespace, &seen)?;
        let body = match &step.body {
            None => None,
            Some(Value::String(text)) => Some(fill(step, text, &namespace, &seen)?),
            Some(object) => Some(fill(step, &object.to_string(), &namespace, &seen)?),
        };
        let patch = topic.file.patch.as_deref().filter(|_| step.method == "PATCH");
        let call = Call {
            step: &step.name,
            method: &step.method,
            path: &path,
            content_type: step.content_type.as_deref().or(patch).unwrap_or(JSON),
            accept: step.accept.as_deref().or(topic.file.accept.as_deref()).unwrap_or(JSON),
            body,
        };
        let Reply { status, warnings, mut body } = server.ask(call).await?;
        leftovers.extend(object_path(&step.method, &path, status, &body));
        seen.insert(&step.name, body.clone());
        normalise(&mut body);
        answers.push(Answer { name: step.name.clone(), status, warnings, body });
    }
    sweep(server, &namespace, leftovers).await?;
    Ok(answers)
}

/// Where the object that a step created can be deleted again.
fn object_path(method: &str, path: &str, status: u16, body: &Value) -> Option<String> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if status != 201 || query.contains("dryRun") {
        return None;
    }
    match method {
        "POST" => Some(format!("{path}/{}", body["metadata"]["name"].as_str()?)),
        _ => Some(path.to_owned()),
    }
}

/// Nobody answers for finalizers in an API server that runs alone, so they are taken off.
async fn sweep(server: &Server, namespace: &str, leftovers: Vec<String>) -> Result<(), AgreementError> {
    for path in leftovers.iter().rev() {
        let loose = json!({"metadata": {"finalizers": null}});
        send(server, "sweep", "PATCH", path, Some(loose)).await?;
        send(server, "sweep", "DELETE", &format!("{path}?gracePeriodSeconds=0"), None).await?;
        let loose = json!({"metadata": {"finalizers": null}});
        send(server, "sweep", "PATCH", path, Some(loose)).await?;
    }
    let path = format!("/api/v1/namespaces/{namespace}");
    send(server, "sweep", "DELETE", &path, None).await?;
    let mut last = send(server, "sweep", "GET", &path, None).await?.body;
    last["spec"] = json!({});
    send(server, "sweep", "PUT", &format!("{path}/finalize"), Some(last)).await?;
    Ok(())
}

async fn send(
    server: &Server,
    step: &str,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> Result<Reply, AgreementError> {
    let content_type = if method == "PATCH" { MERGE } else { JSON };
    let body = body.map(|value| value.to_string());
    server.ask(Call { step, method, path, content_type, accept: JSON, body }).await
}

/// Puts the namespace and earlier answers in.
fn fill(
    step: &Step,
    text: &str,
    namespace: &str,
    seen: &BTreeMap<&str, Value>,
) -> Result<String, AgreementError> {
    let text = text.replace("$ns", namespace);
    let mut pieces = text.split("${");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let lost = || AgreementError::Reference { step: step.name.clone(), reference: piece.to_owned() };
        let (reference, rest) = piece.split_once('}').ok_or_else(lost)?;
        let (name, pointer) = reference.split_once('/').ok_or_else(lost)?;
        let value = seen.get(name).and_then(|body| body.pointer(&format!("/{pointer}"))).ok_or_else(lost)?;
        filled.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        filled.push_str(rest);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests;
