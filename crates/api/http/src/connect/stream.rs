//! Exec, attach and port-forward: the client's connection becomes one to the pod's node. Knows where it leads, not what is said on it.

use form_urlencoded::Serializer;
use http::{StatusCode, Uri};
use kedge_kinds::Status;
use serde_json::Value;

use super::{cannot_dial, container, nodes, object, unexplained};
use crate::answer::Answer;
use crate::api::Api;
use crate::call::{Call, Verb};
use crate::proxy::{self, Asking};
use crate::query::Query;
use crate::rbac::{Ask, What};

pub(super) async fn answer(api: &Api, call: &Call, asking: Asking<'_>) -> Result<Answer, Status> {
    may_create(api, call)?;
    let name = call.at.name.as_deref().unwrap_or_default();
    let pod = object(api, call, name).await?;
    let place = place(call, &pod)?;
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Err(Status::bad_request(format!("pod {name} does not have a host assigned")));
    }
    let node = nodes::found(api, node)?;
    if !asking.upgrades() {
        return Err(Status::bad_request("Upgrade request required"));
    }
    let connections = api.connections();
    let target = connections.nodes.target(&node, false, api.clock().now())?;
    let mut request = asking.outward(None);
    *request.uri_mut() = place.parse::<Uri>().map_err(|error| unexplained(error.to_string()))?;
    let back = asking.back(api.stopping());
    let answered = proxy::exchange(&connections.reach, &target, request, back).await;
    let answer = answered.map_err(|error| cannot_dial(&error))?;
    upgraded(answer)
}

/// Whatever the method: who runs something in a pod does more than read it.
fn may_create(api: &Api, call: &Call) -> Result<(), Status> {
    if call.verb == Verb::Create {
        return Ok(());
    }
    let what = What::Resource {
        group: &call.at.kind.gv.group,
        resource: &call.at.kind.plural,
        subresource: call.at.subresource.as_deref().unwrap_or_default(),
        namespace: call.at.namespace.as_deref().unwrap_or_default(),
        name: call.at.name.as_deref().unwrap_or_default(),
    };
    api.allow(&call.user, &Ask { verb: Verb::Create.name(), what })
}

/// A server that neither changes the protocol nor says why not is none of ours.
pub(super) fn upgraded(answer: Answer) -> Result<Answer, Status> {
    let status = answer.status();
    match status == StatusCode::SWITCHING_PROTOCOLS || status.as_u16() >= 400 {
        true => Ok(answer),
        false => Err(unexplained(format!("invalid upgrade response: status code {}", status.as_u16()))),
    }
}

/// What the node calls it.
fn place(call: &Call, pod: &Value) -> Result<String, Status> {
    let namespace = call.at.namespace.as_deref().unwrap_or_default();
    let name = call.at.name.as_deref().unwrap_or_default();
    let subresource = call.at.subresource.as_deref().unwrap_or_default();
    let (path, query) = match subresource {
        "portforward" => (format!("/portForward/{namespace}/{name}"), ports(&call.query)?),
        _ => {
            let container = container::chosen(pod, call.query.get("container").unwrap_or_default())?;
            (format!("/{subresource}/{namespace}/{name}/{container}"), streams(&call.query, subresource))
        }
    };
    Ok(if query.is_empty() { path } else { format!("{path}?{query}") })
}

/// Which streams there are to be, and what is to be run.
pub(super) fn streams(query: &Query, subresource: &str) -> String {
    let mut text = Serializer::new(String::new());
    for (ours, theirs) in [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")] {
        if query.flag(ours) {
            text.append_pair(theirs, "1");
        }
    }
    if subresource == "exec" {
        text.extend_pairs(query.all("command").map(|word| ("command", word)));
    }
    text.finish()
}

/// The ports that are known beforehand; most clients name them later.
pub(super) fn ports(query: &Query) -> Result<String, Status> {
    let mut ports = Vec::new();
    for port in query.all("ports").flat_map(|list| list.split(',')) {
        match port.parse::<i32>() {
            Ok(_) => ports.push(port),
            Err(_) => {
                let message = format!("strconv.ParseInt: parsing {port:?}: invalid syntax");
                return Err(Status::bad_request(message));
            }
        }
    }
    let mut text = Serializer::new(String::new());
    if !ports.is_empty() {
        text.append_pair("port", &ports.join(","));
    }
    Ok(text.finish())
}
