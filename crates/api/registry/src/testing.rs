//! A registry over a store in memory and a clock turned by hand, for this crate's tests.

use jiff::Timestamp;
use kedge_clock::Clock;
use kedge_kinds::Status;
use kedge_store::Store;
use serde_json::Value;

use crate::{
    At, DeleteOptions, FieldValidation, ListQuery, Options, Patch, Registry, WatchQuery, Watching,
    WriteOptions,
};

pub(crate) const NOON: &str = "2026-01-01T12:00:00Z";

pub(crate) struct Api {
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
}

pub(crate) fn write() -> WriteOptions {
    WriteOptions { manager: "test".to_owned(), ..WriteOptions::default() }
}

pub(crate) fn strictly() -> WriteOptions {
    WriteOptions { validation: FieldValidation::Strict, ..write() }
}

pub(crate) fn dry() -> WriteOptions {
    WriteOptions { dry_run: true, ..write() }
}

/// An API without its background worker, so that nothing happens that the test did not do.
pub(crate) async fn api() -> Api {
    with(Options { namespace_worker: false, quota_worker: false, event_ttl: None, ..Options::default() })
        .await
}

pub(crate) async fn with(options: Options) -> Api {
    let clock = Clock::manual(NOON.parse::<Timestamp>().unwrap());
    let registry = Registry::start(Store::memory(), clock.clone(), options).await.unwrap();
    Api { registry, clock }
}

impl Api {
    /// `pods`, `apps/v1/deployments`, `pods/status`: a resource and perhaps its subresource.
    pub(crate) fn at(&self, resource: &str, namespace: &str, name: &str) -> At {
        let parts: Vec<&str> = resource.split('/').collect();
        let is_version =
            |part: &str| part.starts_with('v') && part.len() > 1 && part.as_bytes()[1].is_ascii_digit();
        let (group, version, rest) = match parts[..] {
            [group, version, ref rest @ ..] if is_version(version) => (group, version, rest),
            ref rest => ("", "v1", rest),
        };
        let kind = self.registry.catalog().kind(group, version, rest[0]).expect(resource).clone();
        let some = |text: &str| Some(text).filter(|text| !text.is_empty()).map(Into::into);
        At {
            kind,
            namespace: some(namespace),
            name: some(name),
            subresource: rest.get(1).map(|&part| part.into()),
        }
    }

    pub(crate) async fn create(
        &self,
        resource: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Status> {
        let written = self.registry.create(&self.at(resource, namespace, ""), object, &write()).await?;
        Ok(serde_json::from_slice(&written.bytes).unwrap())
    }

    pub(crate) async fn update(
        &self,
        resource: &str,
        namespace: &str,
        object: Value,
    ) -> Result<Value, Status> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let written = self.registry.update(&self.at(resource, namespace, &name), object, &write()).await?;
        Ok(serde_json::from_slice(&written.bytes).unwrap())
    }

    pub(crate) async fn merge(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<Value, Status> {
        let at = self.at(resource, namespace, name);
        let written = self.registry.patch(&at, Patch::Merge(patch), &write()).await?;
        Ok(serde_json::from_slice(&written.bytes).unwrap())
    }

    pub(crate) async fn get(&self, resource: &str, namespace: &str, name: &str) -> Result<Value, Status> {
        let found = self.registry.get(&self.at(resource, namespace, name), "").await?;
        Ok(serde_json::from_slice(found.served.as_ref()).unwrap())
    }

    pub(crate) async fn delete(&self, resource: &str, namespace: &str, name: &str) -> Result<Value, Status> {
        self.delete_with(resource, namespace, name, DeleteOptions::default()).await
    }

    pub(crate) async fn delete_with(
        &self,
        resource: &str,
        namespace: &str,
        name: &str,
        delete: DeleteOptions,
    ) -> Result<Value, Status> {
        let deleted = self.registry.delete(&self.at(resource, namespace, name), &delete, &write()).await?;
        Ok(serde_json::from_slice(&deleted.bytes).unwrap())
    }

    /// The names in a list.
    pub(crate) async fn names(
        &self,
        resource: &str,
        namespace: &str,
        query: ListQuery,
    ) -> Result<Vec<String>, Status> {
        let list = self.registry.list(&self.at(resource, namespace, ""), &query).await?;
        let parsed = list.items.map(|bytes| serde_json::from_slice::<Value>(bytes.as_ref()).unwrap());
        Ok(parsed.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect())
    }

    pub(crate) async fn watch(
        &self,
        resource: &str,
        namespace: &str,
        query: WatchQuery,
    ) -> Result<Watching, Status> {
        self.registry.watch(&self.at(resource, namespace, ""), &query).await
    }
}

/// What is there to be told at this moment: `+a ~a -a`, with `|` for the end of the initial events.
pub(crate) fn told(watching: &mut Watching) -> String {
    let mut told = Vec::new();
    while let Some(event) = watching.try_next().unwrap() {
        let name = || {
            serde_json::from_slice::<Value>(&event.bytes).unwrap()["metadata"]["name"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        told.push(match event.kind {
            crate::WatchKind::Added => format!("+{}", name()),
            crate::WatchKind::Modified => format!("~{}", name()),
            crate::WatchKind::Deleted => format!("-{}", name()),
            crate::WatchKind::InitialEventsEnd(_) => "|".to_owned(),
        });
    }
    told.join(" ")
}

pub(crate) fn config_map(name: &str) -> Value {
    serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

pub(crate) fn pod(name: &str) -> Value {
    serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    })
}

pub(crate) fn labelled(mut object: Value, labels: Value) -> Value {
    object["metadata"]["labels"] = labels;
    object
}
