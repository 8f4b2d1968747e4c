//! Deletes a namespace's objects of one kind and sees what is left of them. Decides nothing.

use std::collections::BTreeMap;

use futures::future::join_all;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kedge_client::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kinds::Served;

const METADATA: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;q=0.9";

/// What a namespace still holds of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rest {
    pub(super) kind: Served,
    pub(super) count: usize,
    /// How many each finalizer keeps.
    pub(super) kept_by: BTreeMap<String, usize>,
    /// Nobody keeps it and it was not told to go.
    pub(super) untouched: usize,
    pub(super) uids: Vec<String>,
    /// When this was so.
    pub(super) revision: String,
}

impl Rest {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub(super) struct ClearError {
    what: String,
    source: Box<kube::Error>,
}

#[derive(Deserialize)]
struct Objects {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default)]
    items: Vec<Object>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    #[serde(default)]
    resource_version: String,
}

#[derive(Deserialize)]
struct Object {
    metadata: ObjectMeta,
}

pub(super) async fn clear(client: &Client, kind: &Served, namespace: &str) -> Result<Rest, ClearError> {
    let failed = |what: &str, source| ClearError {
        what: format!("{what} {} in namespace {namespace}", kind.resource.plural),
        source: Box::new(source),
    };
    let before = list(client, kind, namespace).await.map_err(|error| failed("list", error))?;
    let going = |object: &&Object| object.metadata.deletion_timestamp.is_some();
    if before.items.iter().all(|object| going(&object)) {
        return Ok(rest(kind, before));
    }
    if kind.by_collection {
        delete(client, kind.resource.path(namespace, None)).await.map_err(|error| failed("delete", error))?;
    } else {
        let names = before.items.iter().filter(|object| !going(object));
        let paths = names.map(|object| kind.resource.path(namespace, object.metadata.name.as_deref()));
        for answer in join_all(paths.map(|path| delete(client, path))).await {
            answer.map_err(|error| failed("delete", error))?;
        }
    }
    let after = list(client, kind, namespace).await.map_err(|error| failed("list", error))?;
    Ok(rest(kind, after))
}

fn rest(kind: &Served, objects: Objects) -> Rest {
    let mut kept_by = BTreeMap::new();
    let mut untouched = 0;
    for Object { metadata } in &objects.items {
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        finalizers.iter().for_each(|name| *kept_by.entry(name.clone()).or_default() += 1);
        untouched += usize::from(finalizers.is_empty() && metadata.deletion_timestamp.is_none());
    }
    Rest {
        kind: kind.clone(),
        count: objects.items.len(),
        kept_by,
        untouched,
        uids: objects.items.into_iter().filter_map(|object| object.metadata.uid).collect(),
        revision: objects.metadata.resource_version,
    }
}

/// A kind that has gone meanwhile has no objects.
async fn list(client: &Client, kind: &Served, namespace: &str) -> Result<Objects, kube::Error> {
    let request = Request::get(kind.resource.path(namespace, None)).header(ACCEPT, METADATA).body(Vec::new());
    match client.request(request.map_err(kube::Error::HttpError)?).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => {
            Ok(Objects { metadata: ListMeta::default(), items: Vec::new() })
        }
        answer => answer,
    }
}

async fn delete(client: &Client, path: String) -> Result<(), kube::Error> {
    let options =
        json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}).to_string();
    let request = Request::delete(path)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, METADATA)
        .body(options.into_bytes());
    match client.request_text(request.map_err(kube::Error::HttpError)?).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => Ok(()),
        answer => answer.map(drop),
    }
}

/// Says of a namespace that it holds nothing more.
pub(super) async fn finalize(
    client: &Client,
    name: &str,
    uid: &str,
    finalizer: &str,
) -> Result<(), kube::Error> {
    let path = format!("/api/v1/namespaces/{name}");
    let get = Request::get(&path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    let mut namespace: Value = match client.request(get).await {
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        answer => answer?,
    };
    // One that was made anew meanwhile is another's.
    if namespace["metadata"]["uid"] != uid {
        return Ok(());
    }
    if let Some(finalizers) = namespace["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|name| name != finalizer);
    }
    let put = Request::put(format!("{path}/finalize?fieldManager={}", super::NAME))
        .header(CONTENT_TYPE, "application/json")
        .body(namespace.to_string().into_bytes());
    match client.request_text(put.map_err(kube::Error::HttpError)?).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map(drop),
    }
}
