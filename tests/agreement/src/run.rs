//! Sends the steps of a topic to a server, in order, and takes away what they made. Knows no kind; a namespace
//! is the one exception, since every topic gets one.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::Check;
use crate::normal::normalise;
use crate::server::{Call, Reply};
use crate::{AgreementError, Answer, Server, Step, Topic};

const JSON: &str = "application/json";
const NAMESPACES: &str = "/api/v1/namespaces";
const PAUSE: Duration = Duration::from_millis(50);
const REPEATS: usize = 100;
const MERGE: &str = "application/merge-patch+json";

/// Runs a topic and gives the normalised answers.
pub async fn run(server: &Server, topic: &Topic) -> Result<Vec<Answer>, AgreementError> {
    let namespace = topic.namespace();
    let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    send(server, "namespace", "POST", NAMESPACES, Some(made)).await?;
    // Pods need an account, and one that hands out no token leaves them as they were written.
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let accounts = format!("{NAMESPACES}/{namespace}/serviceaccounts");
    send(server, "account", "POST", &accounts, Some(account)).await?;
    let tokenless = json!({"automountServiceAccountToken": false});
    send(server, "account", "PATCH", &format!("{accounts}/default"), Some(tokenless)).await?;

    let mut seen: BTreeMap<&str, Value> = BTreeMap::new();
    let mut leftovers = vec![format!("{accounts}/default")];
    let mut answers = Vec::new();
    for step in &topic.file.steps {
        let path = fill(step, &step.path, &namespace, &seen)?;
        let body = match &step.body {
            None => None,
            Some(Value::String(text)) => Some(fill(step, text, &namespace, &seen)?),
            Some(object) => Some(fill(step, &object.to_string(), &namespace, &seen)?),
        };
        let patch = topic.file.patch.as_deref().filter(|_| step.method == "PATCH");
        let general = topic.file.accept.as_deref().filter(|_| step.check == Check::Whole);
        let accept = step.accept.as_deref().or(general);
        let call = Call {
            step: &step.name,
            method: &step.method,
            path: &path,
            content_type: step.content_type.as_deref().or(patch).unwrap_or(JSON),
            accept: accept.unwrap_or(JSON),
            user: step.user.as_deref(),
            body,
        };
        let Reply { status, warnings, mut body } = patiently(server, &call, step.until).await?;
        leftovers.extend(object_path(&step.method, &path, status, &body));
        seen.insert(&step.name, body.clone());
        if step.check == Check::Status {
            body = Value::Null;
        }
        normalise(&mut body);
        answers.push(Answer { name: step.name.clone(), status, warnings, body });
    }
    sweep(server, &namespace, leftovers).await?;
    Ok(answers)
}

/// Asks until the status is the wanted one, or for long enough; the last answer counts.
async fn patiently(server: &Server, call: &Call<'_>, until: Option<u16>) -> Result<Reply, AgreementError> {
    let mut reply = server.ask(call).await?;
    for _ in 0..REPEATS {
        if until.is_none_or(|wanted| wanted == reply.status) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        reply = server.ask(call).await?;
    }
    Ok(reply)
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
    let own = format!("{NAMESPACES}/{namespace}");
    for path in leftovers.iter().rev().chain([&own]) {
        let loose = json!({"metadata": {"finalizers": null}});
        send(server, "sweep", "PATCH", path, Some(loose.clone())).await?;
        send(server, "sweep", "DELETE", &format!("{path}?gracePeriodSeconds=0"), None).await?;
        send(server, "sweep", "PATCH", path, Some(loose)).await?;
        if let Some(name) = path.strip_prefix(NAMESPACES).filter(|rest| rest.matches('/').count() == 1) {
            let empty = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": &name[1..]}});
            send(server, "sweep", "PUT", &format!("{path}/finalize"), Some(empty)).await?;
        }
    }
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
    server.ask(&Call { step, method, path, content_type, accept: JSON, user: None, body }).await
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
