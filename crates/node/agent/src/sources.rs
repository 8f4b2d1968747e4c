//! The objects that a pod refers to, as they are now. A failure to ask is never taken for an absence.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, EnvFromSource, EnvVarSource, Pod, PodSpec, Secret, Service};
use kedge_client::{Client, Fields, Objects, Watched, Written};
use kedge_engine::World;
use kedge_kinds::Quantity;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::plan::{as_container, containers};
use crate::spec::env::Lookup;
use crate::volumes::Places;

/// What was read for one pod alone.
#[derive(Clone, Default)]
pub(crate) struct Read {
    maps: HashMap<String, ConfigMap>,
    secrets: HashMap<String, Secret>,
}

/// The same as JSON.
#[derive(Deserialize)]
struct Kept<'a> {
    #[serde(borrow)]
    maps: HashMap<String, &'a RawValue>,
    #[serde(borrow)]
    secrets: HashMap<String, &'a RawValue>,
}

impl Read {
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, serde_json::Error> {
        fn all<K: Watched>(
            kept: HashMap<String, &RawValue>,
        ) -> Result<HashMap<String, K>, serde_json::Error> {
            kept.into_iter().map(|(name, object)| Ok((name, K::read(object.get().as_bytes())?))).collect()
        }
        let kept: Kept<'_> = serde_json::from_slice(json)?;
        Ok(Self { maps: all(kept.maps)?, secrets: all(kept.secrets)? })
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        fn all<K: Written>(read: &HashMap<String, K>) -> Value {
            read.iter().map(|(name, object)| (name.clone(), object.write().into())).collect::<Fields>().into()
        }
        json!({"maps": all(&self.maps), "secrets": all(&self.secrets)}).to_string().into_bytes()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.maps.is_empty() && self.secrets.is_empty()
    }
}

/// Everything that the environment of a pod's containers may need.
pub(crate) struct Sources {
    read: Read,
    services: Vec<Arc<Service>>,
    allocatable: Arc<HashMap<String, Quantity>>,
}

/// The same with the volumes that were made of the pod's.
pub(crate) struct WithVolumes<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) volumes: &'a Places,
}

impl Sources {
    pub(crate) async fn of(
        pod: &Pod,
        client: &Client,
        world: &World,
        allocatable: Arc<HashMap<String, Quantity>>,
    ) -> Result<Self, kube::Error> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let names = pod.spec.as_ref().map(Names::of).unwrap_or_default();
        let maps = Objects::<ConfigMap>::within(client, namespace);
        let secrets = Objects::<Secret>::within(client, namespace);
        let mut read = Read::default();
        for name in names.maps {
            if let Some(found) = maps.find(&name).await? {
                read.maps.insert(name, found);
            }
        }
        for name in names.secrets {
            if let Some(found) = secrets.find(&name).await? {
                read.secrets.insert(name, found);
            }
        }
        Ok(Self::from_read(read, world, allocatable))
    }

    /// With what was read for the pod before.
    pub(crate) fn from_read(read: Read, world: &World, allocatable: Arc<HashMap<String, Quantity>>) -> Self {
        let services = world.cache::<Service>().map(|cache| cache.all()).unwrap_or_default();
        Self { read, services, allocatable }
    }

    pub(crate) fn read(&self) -> &Read {
        &self.read
    }
}

impl Lookup for WithVolumes<'_> {
    fn config_map(&self, name: &str) -> Option<&ConfigMap> {
        self.sources.read.maps.get(name)
    }

    fn secret(&self, name: &str) -> Option<&Secret> {
        self.sources.read.secrets.get(name)
    }

    fn services(&self) -> Vec<&Service> {
        self.sources.services.iter().map(|service| &**service).collect()
    }

    fn allocatable(&self, resource: &str) -> Option<Quantity> {
        self.sources.allocatable.get(resource).copied()
    }

    fn volume(&self, name: &str) -> Option<&Path> {
        self.volumes.get(name).map(|place| &*place.path)
    }
}

/// The objects that variables come from.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) maps: Vec<String>,
    pub(crate) secrets: Vec<String>,
}

impl Names {
    pub(crate) fn of(spec: &PodSpec) -> Self {
        let mut names = Self::default();
        let debugging: Vec<_> = spec.ephemeral_containers.iter().flatten().map(as_container).collect();
        for container in containers(spec).chain(&debugging) {
            container.env_from.iter().flatten().for_each(|source| names.whole(source));
            let listed = container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref());
            listed.for_each(|source| names.part(source));
        }
        for list in [&mut names.maps, &mut names.secrets] {
            list.sort();
            list.dedup();
        }
        names
    }

    fn whole(&mut self, source: &EnvFromSource) {
        self.maps.extend(source.config_map_ref.iter().map(|wanted| wanted.name.clone()));
        self.secrets.extend(source.secret_ref.iter().map(|wanted| wanted.name.clone()));
    }

    fn part(&mut self, source: &EnvVarSource) {
        self.maps.extend(source.config_map_key_ref.iter().map(|wanted| wanted.name.clone()));
        self.secrets.extend(source.secret_key_ref.iter().map(|wanted| wanted.name.clone()));
    }
}
