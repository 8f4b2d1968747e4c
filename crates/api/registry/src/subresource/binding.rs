//! `binding`: a scheduler gives a pod its node. Once and for all.

use kedge_kinds::{Details, Meta, Reason, Status};
use serde_json::{Value, json};

use crate::registry::{Registry, Written};
use crate::request::{At, WriteOptions};
use crate::update::Outcome;
use crate::{admission, body, encode, failure, metadata, object};

/// `POST …/pods/{name}/binding` and `POST …/bindings`.
pub(crate) async fn create(
    registry: &Registry,
    at: &At,
    binding: Value,
    options: &WriteOptions,
) -> Result<Written, Status> {
    let catalog = registry.catalog();
    let kind =
        catalog.by_kind("", "v1", "Binding").ok_or_else(|| Status::internal("bindings are not served"))?;
    let mut warnings = Vec::new();
    // Its labels and annotations become the pod's, so they must be what labels and annotations are.
    let mut binding =
        body::accept(&At { kind: kind.clone(), ..at.clone() }, binding, options, &mut warnings)?;
    if object::text(&binding, &["target", "kind"]) == "Node" {
        let node = object::text(&binding, &["target", "name"]).to_owned();
        admission::topology::label(&registry.store().snapshot(), &node, &mut binding)?;
    }
    registry.admit_sent(at, &mut binding, options).await?;
    let sent = object::meta_text(&binding, "name");
    let name = at.name.as_deref().unwrap_or(sent);
    if !sent.is_empty() && sent != name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let node = object::text(&binding, &["target", "name"]).to_owned();
    let target = object::text(&binding, &["target", "kind"]);
    if !target.is_empty() && target != "Node" {
        return Err(failure::bare(format!(
            "target.kind: Unsupported value: {target:?}: supported values: \"Node\", \"<empty>\""
        )));
    }
    if node.is_empty() {
        return Err(failure::bare("target.name: Required value"));
    }
    // A pod on a node that can't exist could never be changed again: its own rules would refuse it.
    if let Some(why) = kedge_kinds::names::dns1123_subdomain(&node).into_iter().next() {
        return Err(failure::bare(format!("target.name: Invalid value: {node:?}: {why}")));
    }
    let pods = catalog.kind("", "v1", "pods").ok_or_else(|| Status::internal("pods are not served"))?;
    // Nothing of what a binding changes is anybody's in `managedFields`, and it raises no generation.
    let pod =
        At { kind: pods.clone(), name: Some(name.into()), subresource: Some("binding".into()), ..at.clone() };
    let now = registry.clock().now();
    let written = registry
        .change(&pod, options, false, |live, _| {
            let uid = object::meta_text(&binding, "uid");
            if !uid.is_empty() && uid != object::meta_text(&live.object, "uid") {
                let found = object::meta_text(&live.object, "uid");
                return Err(failure::precondition(&pod.kind, name, &live.key, uid, found));
            }
            let mut object = live.object.clone();
            bind(&mut object, name, &node, &binding, &metadata::time(now))?;
            Ok(Outcome { object, warnings: Vec::new() })
        })
        .await?;
    let success =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Written { bytes: encode::plain(&success), created: true, warnings, ..written })
}

fn bind(pod: &mut Value, name: &str, node: &str, binding: &Value, now: &str) -> Result<(), Status> {
    if Meta::of(pod).is_leaving() {
        return Err(refused(name, &format!("pod {name} is being deleted, cannot be assigned to a host")));
    }
    let assigned = object::text(pod, &["spec", "nodeName"]);
    if !assigned.is_empty() {
        return Err(refused(name, &format!("pod {name} is already assigned to node {assigned:?}")));
    }
    if object::at(pod, &["spec", "schedulingGates"])
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty())
    {
        return Err(refused(name, &format!("pod {name} has non-empty .spec.schedulingGates")));
    }
    object::map_mut(pod, "spec").insert("nodeName".to_owned(), node.into());
    for part in ["annotations", "labels"] {
        for (key, value) in object::meta(binding, part).and_then(Value::as_object).into_iter().flatten() {
            let metadata = object::meta_mut(pod);
            object::as_map(metadata.entry(part).or_insert_with(|| json!({})))
                .insert(key.clone(), value.clone());
        }
    }
    let condition =
        json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now});
    let conditions = object::map_mut(pod, "status").entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|one| object::text(one, &["type"]) != "PodScheduled");
        conditions.push(condition);
    }
    Ok(())
}

fn refused(name: &str, why: &str) -> Status {
    let message = format!("Operation cannot be fulfilled on pods/binding \"{name}\": {why}");
    Status::new(409, Reason::Conflict, message).with(Details {
        name: name.to_owned(),
        kind: "pods/binding".to_owned(),
        ..Details::default()
    })
}
