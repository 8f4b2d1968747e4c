//! What an autoscaler scales: finds out where objects of a kind are, and reads their `scale`. Knows no kind in particular.

use std::collections::HashMap;

use http::Request;
use kedge_client::Client;
use kedge_engine::{Key, Resource, Target};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::autoscaler::Reference;

/// The scale of a target, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) target: Target,
    /// How many it wants.
    pub(crate) replicas: i32,
    /// How many it has.
    pub(crate) there: i32,
    pub(crate) selector: String,
}

/// Where objects of a kind are, once that was found out.
#[derive(Default)]
pub(crate) struct Places(Mutex<HashMap<(String, String), Resource>>);

#[derive(Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    kind: String,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    metadata: Metadata,
    spec: Counted,
    status: Counted,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    uid: String,
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counted {
    replicas: i32,
    selector: String,
}

impl Places {
    /// The scale of a target, or in words why there is none.
    pub(crate) async fn scale(
        &self,
        client: &Client,
        namespace: &str,
        of: &Reference,
    ) -> Result<Scale, String> {
        let resource = self.find(client, of).await?;
        let path = format!("{}/scale", resource.path(namespace, Some(&of.name)));
        let shown: Shown = match get(client, &path).await {
            Ok(shown) => shown,
            Err(error) => {
                // The kind may have moved.
                self.0.lock().remove(&(of.api_version.clone(), of.kind.clone()));
                return Err(said(&error));
            }
        };
        let target = Target {
            resource,
            key: Key::new(namespace, of.name.clone()),
            uid: shown.metadata.uid,
            revision: shown.metadata.resource_version,
        };
        let Counted { replicas, .. } = shown.spec;
        let Counted { replicas: there, selector } = shown.status;
        Ok(Scale { target, replicas, there, selector })
    }

    pub(crate) async fn find(&self, client: &Client, of: &Reference) -> Result<Resource, String> {
        let key = (of.api_version.clone(), of.kind.clone());
        if let Some(known) = self.0.lock().get(&key) {
            return Ok(known.clone());
        }
        let group = of.group();
        let told = of.api_version.rsplit('/').next().filter(|version| !version.is_empty()).unwrap_or("v1");
        let mut versions = vec![told.to_owned()];
        let mut asked = 0;
        while let Some(version) = versions.get(asked).cloned() {
            asked += 1;
            let path = match group {
                "" => format!("/api/{version}"),
                group => format!("/apis/{group}/{version}"),
            };
            let listed: Resources = match get(client, &path).await {
                Ok(listed) => listed,
                Err(error) if !is_absent(&error) => return Err(said(&error)),
                Err(_) => Resources { resources: Vec::new() },
            };
            let mut resources = listed.resources.into_iter();
            if let Some(found) = resources.find(|one| one.kind == of.kind && !one.name.contains('/')) {
                let (group, kind) = (group.to_owned(), of.kind.clone());
                let resource = Resource { group, version, kind, plural: found.name };
                self.0.lock().insert(key, resource.clone());
                return Ok(resource);
            }
            // Another version of the group may have it still, or already.
            if asked == 1
                && !group.is_empty()
                && let Ok(all) = get::<Group>(client, &format!("/apis/{group}")).await
            {
                let others = all.versions.into_iter().map(|one| one.version);
                versions.extend(others.filter(|version| version != told));
            }
        }
        Err(format!("no matches for kind {:?} in group {group:?}", of.kind))
    }
}

pub(crate) async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Result<T, kube::Error> {
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

pub(crate) fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// The server's own words, where it had any.
pub(crate) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}
