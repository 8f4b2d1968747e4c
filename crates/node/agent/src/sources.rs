//! The objects that a pod refers to, as they are now. A failure to ask is never taken for an absence.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, EnvFromSource, EnvVarSource, Pod, PodSpec, Secret, Service};
use kedge_engine::World;
use kedge_kinds::Quantity;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};

use crate::plan::{as_container, containers};
use crate::spec::env::Lookup;

/// What was read for one pod alone.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Read {
    maps: HashMap<String, ConfigMap>,
    secrets: HashMap<String, Secret>,
}

impl Read {
    pub(crate) fn is_empty(&self) -> bool {
        self.maps.is_empty() && self.secrets.is_empty()
    }
}

/// Everything that the environment of a pod's containers may need.
pub(crate) struct Sources {
    read: Read,
    services: Vec<Arc<Service>>,
    allocatable: HashMap<String, Quantity>,
}

impl Sources {
    pub(crate) async fn of(
        pod: &Pod,
        client: &Client,
        world: &World,
        allocatable: HashMap<String, Quantity>,
    ) -> Result<Self, kube::Error> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let names = pod.spec.as_ref().map(Names::of).unwrap_or_default();
        let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
        let mut read = Read::default();
        for name in names.maps {
            if let Some(found) = maps.get_opt(&name).await? {
                read.maps.insert(name, found);
            }
        }
        for name in names.secrets {
            if let Some(found) = secrets.get_opt(&name).await? {
                read.secrets.insert(name, found);
            }
        }
        Ok(Self::from_read(read, world, allocatable))
    }

    /// With what was read for the pod before.
    pub(crate) fn from_read(read: Read, world: &World, allocatable: HashMap<String, Quantity>) -> Self {
        let services = world.cache::<Service>().map(|cache| cache.all()).unwrap_or_default();
        Self { read, services, allocatable }
    }

    pub(crate) fn read(&self) -> &Read {
        &self.read
    }
}

impl Lookup for Sources {
    fn config_map(&self, name: &str) -> Option<&ConfigMap> {
        self.read.maps.get(name)
    }

    fn secret(&self, name: &str) -> Option<&Secret> {
        self.read.secrets.get(name)
    }

    fn services(&self) -> Vec<&Service> {
        self.services.iter().map(|service| &**service).collect()
    }

    fn allocatable(&self, resource: &str) -> Option<Quantity> {
        self.allocatable.get(resource).copied()
    }
}

#[derive(Default)]
struct Names {
    maps: Vec<String>,
    secrets: Vec<String>,
}

impl Names {
    fn of(spec: &PodSpec) -> Self {
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
