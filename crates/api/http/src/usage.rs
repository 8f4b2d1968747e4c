//! `metrics.k8s.io`: how much nodes and pods use, asked of the nodes at the moment somebody wants to know. Stores nothing; of a node
//! that doesn't answer nothing is told.

mod ask;
mod objects;
mod reading;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use kedge_kinds::{Details, Kind, Reason, Status};
use kedge_registry::{At, Items, List, ListQuery};
use serde_json::Value;

use crate::answer::Answer;
use crate::api::Api;
use crate::call::{Call, Verb};
use crate::verbs;

pub(crate) use ask::Readings;
use reading::Reading;

/// What is measured is named like what it is measured of.
fn measured_of(api: &Api, call: &Call) -> Result<At, Status> {
    let catalog = api.registry().catalog();
    let kind = catalog.kind("", "v1", &call.at.kind.plural).cloned();
    let kind = kind.ok_or_else(|| Status::internal(format!("{} are not served", call.at.kind.plural)))?;
    Ok(At { kind, ..call.at.clone() })
}

pub(crate) async fn answer(api: &Api, call: &Call) -> Result<Answer, Status> {
    match call.verb {
        Verb::Get => get(api, call).await,
        _ => list(api, call).await,
    }
}

async fn get(api: &Api, call: &Call) -> Result<Answer, Status> {
    let name = call.at.name.as_deref().unwrap_or_default();
    let found = api.registry().get(&measured_of(api, call)?, "").await;
    let found = found.map_err(|status| match status.code {
        404 => Status::not_found(&call.at.kind, name),
        _ => status,
    })?;
    let object: Value = serde_json::from_slice(found.served.as_ref()).unwrap_or_default();
    let made = made(api, &call.at.kind, vec![object]).await;
    match made.into_iter().next() {
        Some(bytes) => verbs::object(api, call, 200, &bytes),
        None => Err(not_measured(&call.at)),
    }
}

/// Clients tell what isn't there from what was not measured yet by the name of the kind.
fn not_measured(at: &At) -> Status {
    let name = at.name.as_deref().unwrap_or_default();
    let name =
        at.namespace.as_ref().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"));
    let (kind, group) = (at.kind.kind.to_lowercase(), at.kind.gv.group.to_string());
    let message = format!("{kind}.{group} {name:?} not found");
    let details = Details { name, group, kind, ..Details::default() };
    Status::new(404, Reason::NotFound, message).with(details)
}

async fn list(api: &Api, call: &Call) -> Result<Answer, Status> {
    let asked = call.query.list()?;
    let query = ListQuery { labels: asked.labels, fields: asked.fields, ..ListQuery::default() };
    let found = api.registry().list(&measured_of(api, call)?, &query).await?;
    let objects = found.items.filter_map(|item| serde_json::from_slice(item.as_ref()).ok()).collect();
    let items = made(api, &call.at.kind, objects).await;
    let made = List {
        revision: found.revision,
        continue_token: String::new(),
        remaining: None,
        items: Items::made(items),
    };
    verbs::list_answer(api, call, made).await
}

/// What was measured of each of these nodes or pods; those of which nothing is known are left out.
async fn made(api: &Api, kind: &Kind, objects: Vec<Value>) -> Vec<Bytes> {
    let now = api.clock().now();
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let is_pods = kind.namespaced;
    let of_node = |object: &Value| {
        if is_pods { object["spec"]["nodeName"].as_str().map(str::to_owned) } else { Some(name(object)) }
    };
    let nodes: BTreeSet<String> =
        objects.iter().filter_map(of_node).filter(|node| !node.is_empty()).collect();
    let readings: HashMap<String, Arc<Reading>> = api.readings().of(api, nodes).await;
    let measured = objects.iter().filter_map(|object| {
        let reading = readings.get(&of_node(object)?)?;
        let made = if is_pods {
            objects::of_pod(object, reading, now)
        } else {
            objects::of_node(object, reading, now)
        };
        serde_json::to_vec(&made?).ok().map(Bytes::from)
    });
    measured.collect()
}

#[cfg(test)]
mod tests;
