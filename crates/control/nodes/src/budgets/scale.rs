//! How many pods the controllers of some pods want in all. Controllers that we watch are known; any other is asked through its
//! `scale`, if it has one.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Request;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::core::v1::{Pod, ReplicationController};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIResourceList, OwnerReference};
use kedge_children::claim;
use kedge_client::{Client, Watched};
use kedge_engine::{Key, NotReady, Seen, TurnError, World};
use kube::ResourceExt;

pub(super) struct Scales {
    world: World,
    client: Client,
}

/// A controller's uid and how many pods it wants.
type Found = Option<(String, i32)>;

impl Scales {
    pub(super) fn new(world: World, client: Client) -> Self {
        Self { world, client }
    }

    /// The sum over all controllers, and whether there are pods without one. The inner error is what is wrong with the pods,
    /// for people to read.
    pub(super) async fn of(&self, pods: &[Arc<Pod>]) -> Result<Result<(i32, bool), String>, TurnError> {
        let mut scales: BTreeMap<String, i32> = BTreeMap::new();
        let mut known: BTreeMap<&str, ()> = BTreeMap::new();
        let mut unmanaged = false;
        for pod in pods {
            let Some(owner) = claim::controller(&**pod) else {
                unmanaged = true;
                continue;
            };
            if known.insert(&owner.uid, ()).is_some() {
                continue;
            }
            let namespace = pod.namespace().unwrap_or_default();
            let found = match in_world(owner, &namespace, &self.world)? {
                Some(found) => Ok(Some(found)),
                None => self.ask(owner, &namespace).await?,
            };
            match found {
                Ok(Some((uid, scale))) => drop(scales.insert(uid, scale)),
                Ok(None) => return Ok(Err(format!("found no controllers for pod {:?}", pod.name_any()))),
                Err(message) => return Ok(Err(message)),
            }
        }
        let sum = scales.values().fold(0, |sum: i32, scale| sum.saturating_add(*scale));
        Ok(Ok((sum, unmanaged)))
    }

    /// Our sight of pods may be ahead of our sight of their controllers, so this is also asked about kinds that we watch.
    async fn ask(&self, owner: &OwnerReference, namespace: &str) -> Result<Result<Found, String>, TurnError> {
        let (kind, api) = (&owner.kind, &owner.api_version);
        let base = if api.contains('/') { format!("/apis/{api}") } else { format!("/api/{api}") };
        let unknown = || format!("no matches for kind {kind:?} in version {api:?}");
        let Some(served) = self.get::<APIResourceList>(&base).await? else { return Ok(Err(unknown())) };
        let mut resources = served.resources.iter();
        let Some(resource) = resources.find(|one| one.kind == *kind && !one.name.contains('/')) else {
            return Ok(Err(unknown()));
        };
        let plural = &resource.name;
        if !served.resources.iter().any(|one| one.name == format!("{plural}/scale")) {
            let group = api.split_once('/').map(|(group, _)| format!(".{group}")).unwrap_or_default();
            return Ok(Err(format!("{plural}{group} does not implement the scale subresource")));
        }
        let path = format!("{base}/namespaces/{namespace}/{plural}/{}/scale", owner.name);
        let scale = self.get::<Scale>(&path).await?;
        let scale = scale.filter(|scale| scale.metadata.uid.as_ref() == Some(&owner.uid));
        Ok(Ok(scale.map(|scale| {
            let replicas = scale.spec.and_then(|spec| spec.replicas).unwrap_or(0);
            (owner.uid.clone(), replicas)
        })))
    }

    /// `None` where there is nothing.
    async fn get<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<Option<T>, TurnError> {
        let failed = |source: kube::Error| TurnError::Failed {
            action: format!("look at {path}"),
            source: Box::new(source),
        };
        let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError).map_err(failed)?;
        match self.client.request(request).await {
            Ok(found) => Ok(Some(found)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

/// A ReplicaSet of a Deployment wants what the Deployment wants.
fn in_world(owner: &OwnerReference, namespace: &str, world: &World) -> Result<Found, NotReady> {
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    Ok(match (group, &*owner.kind) {
        ("", "ReplicationController") => of::<ReplicationController>(owner, namespace, world)?,
        ("apps", "StatefulSet") => of::<StatefulSet>(owner, namespace, world)?,
        ("apps" | "extensions", "ReplicaSet") => {
            let set = find::<ReplicaSet>(owner, namespace, world)?;
            match set.as_deref().map(claim::controller) {
                Some(Some(deployment)) if deployment.kind == "Deployment" => {
                    of::<Deployment>(deployment, namespace, world)?
                }
                _ => set.and_then(|set| set.scale()),
            }
        }
        _ => None,
    })
}

fn of<K: Scaled>(owner: &OwnerReference, namespace: &str, world: &World) -> Result<Found, NotReady> {
    Ok(find::<K>(owner, namespace, world)?.and_then(|found| found.scale()))
}

fn find<K: Watched>(
    owner: &OwnerReference,
    namespace: &str,
    world: &World,
) -> Result<Option<Arc<K>>, NotReady> {
    let found = world.get::<K>(&Key::new(namespace, owner.name.clone()))?;
    Ok(found.filter(|found| found.meta().uid.as_ref() == Some(&owner.uid)))
}

/// Whether a controller wants another number of pods than before.
pub(super) fn changes(seen: &Seen<'_>) -> bool {
    fn of<K: Scaled>(seen: &Seen<'_>) -> bool {
        seen.before::<K>().map(Scaled::scale) != seen.now::<K>().map(Scaled::scale)
    }
    of::<Deployment>(seen)
        || of::<ReplicaSet>(seen)
        || of::<StatefulSet>(seen)
        || of::<ReplicationController>(seen)
}

trait Scaled: Watched {
    fn replicas(&self) -> Option<i32>;

    fn scale(&self) -> Found {
        Some((self.meta().uid.clone()?, self.replicas().unwrap_or(1)))
    }
}

macro_rules! scaled {
    ($($kind:ty),*) => {$(
        impl Scaled for $kind {
            fn replicas(&self) -> Option<i32> {
                self.spec.as_ref()?.replicas
            }
        }
    )*};
}

scaled!(Deployment, ReplicaSet, StatefulSet, ReplicationController);
