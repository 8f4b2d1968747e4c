//! The environment of a container: listed variables, those of whole ConfigMaps and Secrets, the pod's own facts, and the
//! services of its namespace.

mod file;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, EnvVarSource, FileKeySelector, ObjectFieldSelector, Pod, ResourceFieldSelector,
    Secret, Service,
};
use kedge_kinds::Quantity;

use crate::spec::expand::expand;

/// What is looked up for a container.
pub(crate) trait Lookup {
    fn config_map(&self, name: &str) -> Option<&ConfigMap>;
    fn secret(&self, name: &str) -> Option<&Secret>;
    /// Those of the pod's namespace, and the API itself.
    fn services(&self) -> Vec<&Service>;
    /// What the node has to give, where a container sets no limit.
    fn allocatable(&self, resource: &str) -> Option<Quantity>;
    /// Where a volume of the pod is on the node.
    fn volume(&self, name: &str) -> Option<&Path>;
}

/// Facts about a pod that are known only once it has a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    pub(crate) node: String,
    pub(crate) node_ips: Vec<String>,
    pub(crate) pod_ips: Vec<String>,
}

/// Why a container cannot be made yet; people read it in its status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvError {
    #[error("configmap \"{0}\" not found")]
    NoConfigMap(String),
    #[error("secret \"{0}\" not found")]
    NoSecret(String),
    #[error("couldn't find key {key} in ConfigMap {namespace}/{name}")]
    NoConfigMapKey { namespace: String, name: String, key: String },
    #[error("couldn't find key {key} in Secret {namespace}/{name}")]
    NoSecretKey { namespace: String, name: String, key: String },
    #[error("field {0} is not known")]
    UnknownField(String),
    #[error("resource {0} is not known")]
    UnknownResource(String),
    #[error("container {0} is not part of the pod")]
    UnknownContainer(String),
    #[error("cannot find the volume {0:?} referenced by FileKeyRef")]
    NoVolume(String),
    /// Its words may be those of a secret.
    #[error("couldn't parse env file")]
    NoFile,
    #[error("environment variable key {key:?} not found in file {path:?}")]
    NoFileKey { path: String, key: String },
}

/// Name and value, each name once.
pub(crate) fn environment(
    pod: &Pod,
    container: &Container,
    place: &Place,
    lookup: &dyn Lookup,
) -> Result<BTreeMap<String, String>, EnvError> {
    let links = pod.spec.as_ref().and_then(|spec| spec.enable_service_links).unwrap_or(true);
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let services = services(&lookup.services(), namespace, links);
    let mut variables = whole_objects(container, lookup)?;
    let mut listed: BTreeMap<String, String> = BTreeMap::new();
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            None => {
                let known = |name: &str| {
                    let own = listed.get(name).or_else(|| variables.get(name));
                    own.or_else(|| services.get(name)).cloned()
                };
                Some(expand(variable.value.as_deref().unwrap_or_default(), known))
            }
            Some(source) => from(source, pod, container, place, lookup)?,
        };
        if let Some(value) = value {
            listed.insert(variable.name.clone(), value);
        }
    }
    variables.append(&mut listed);
    for (name, value) in services {
        variables.entry(name).or_insert(value);
    }
    Ok(variables)
}

fn whole_objects(container: &Container, lookup: &dyn Lookup) -> Result<BTreeMap<String, String>, EnvError> {
    let mut variables = BTreeMap::new();
    for source in container.env_from.iter().flatten() {
        let prefix = source.prefix.as_deref().unwrap_or_default();
        let mut put = |key: &str, value: String| drop(variables.insert(format!("{prefix}{key}"), value));
        if let Some(wanted) = &source.config_map_ref {
            match lookup.config_map(&wanted.name) {
                Some(map) => {
                    for (key, value) in map.data.iter().flatten() {
                        put(key, value.clone());
                    }
                }
                None if wanted.optional == Some(true) => {}
                None => return Err(EnvError::NoConfigMap(wanted.name.clone())),
            }
        }
        if let Some(wanted) = &source.secret_ref {
            match lookup.secret(&wanted.name) {
                Some(secret) => {
                    for (key, value) in secret.data.iter().flatten() {
                        put(key, text(value));
                    }
                }
                None if wanted.optional == Some(true) => {}
                None => return Err(EnvError::NoSecret(wanted.name.clone())),
            }
        }
    }
    Ok(variables)
}

fn from(
    source: &EnvVarSource,
    pod: &Pod,
    container: &Container,
    place: &Place,
    lookup: &dyn Lookup,
) -> Result<Option<String>, EnvError> {
    let namespace = || pod.metadata.namespace.clone().unwrap_or_default();
    if let Some(wanted) = &source.config_map_key_ref {
        let optional = wanted.optional == Some(true);
        let Some(map) = lookup.config_map(&wanted.name) else {
            return if optional { Ok(None) } else { Err(EnvError::NoConfigMap(wanted.name.clone())) };
        };
        let value = map.data.as_ref().and_then(|data| data.get(&wanted.key));
        return match value {
            Some(value) => Ok(Some(value.clone())),
            None if optional => Ok(None),
            None => Err(EnvError::NoConfigMapKey {
                namespace: namespace(),
                name: wanted.name.clone(),
                key: wanted.key.clone(),
            }),
        };
    }
    if let Some(wanted) = &source.secret_key_ref {
        let optional = wanted.optional == Some(true);
        let Some(secret) = lookup.secret(&wanted.name) else {
            return if optional { Ok(None) } else { Err(EnvError::NoSecret(wanted.name.clone())) };
        };
        let value = secret.data.as_ref().and_then(|data| data.get(&wanted.key));
        return match value {
            Some(value) => Ok(Some(text(value))),
            None if optional => Ok(None),
            None => Err(EnvError::NoSecretKey {
                namespace: namespace(),
                name: wanted.name.clone(),
                key: wanted.key.clone(),
            }),
        };
    }
    if let Some(wanted) = &source.field_ref {
        return field(wanted, pod, place).map(Some);
    }
    if let Some(wanted) = &source.resource_field_ref {
        return resource(wanted, pod, Some(container), |name| lookup.allocatable(name)).map(Some);
    }
    match &source.file_key_ref {
        Some(wanted) => left_behind(wanted, lookup),
        None => Ok(None),
    }
}

/// What a container of the pod left in a file.
fn left_behind(wanted: &FileKeySelector, lookup: &dyn Lookup) -> Result<Option<String>, EnvError> {
    let optional = wanted.optional == Some(true);
    let volume = lookup.volume(&wanted.volume_name);
    let volume = volume.ok_or_else(|| EnvError::NoVolume(wanted.volume_name.clone()))?;
    let text = match file::text(volume, &wanted.path) {
        Ok(text) => text,
        Err(error) if optional && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            tracing::debug!(%error, path = wanted.path, "cannot read a file of variables");
            return Err(EnvError::NoFile);
        }
    };
    let found = file::value(&text, &wanted.key).map_err(|error| {
        tracing::debug!(%error, path = wanted.path, "a file of variables is not one");
        EnvError::NoFile
    })?;
    if found.is_none() && !optional {
        return Err(EnvError::NoFileKey { path: wanted.path.clone(), key: wanted.key.clone() });
    }
    Ok(found)
}

/// A fact of the pod itself.
pub(crate) fn field(wanted: &ObjectFieldSelector, pod: &Pod, place: &Place) -> Result<String, EnvError> {
    let meta = &pod.metadata;
    let spec = pod.spec.as_ref();
    let first = |list: &[String]| list.first().cloned().unwrap_or_default();
    let path = &*wanted.field_path;
    if let Some((field, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        let map = match field {
            "metadata.labels" => meta.labels.as_ref(),
            "metadata.annotations" => meta.annotations.as_ref(),
            _ => return Err(EnvError::UnknownField(path.to_owned())),
        };
        return Ok(map.and_then(|map| map.get(key)).cloned().unwrap_or_default());
    }
    Ok(match path {
        "metadata.name" => meta.name.clone().unwrap_or_default(),
        "metadata.namespace" => meta.namespace.clone().unwrap_or_default(),
        "metadata.uid" => meta.uid.clone().unwrap_or_default(),
        "metadata.labels" => listing(meta.labels.as_ref()),
        "metadata.annotations" => listing(meta.annotations.as_ref()),
        "spec.nodeName" => place.node.clone(),
        "spec.serviceAccountName" => {
            spec.and_then(|spec| spec.service_account_name.clone()).unwrap_or_default()
        }
        "status.hostIP" => first(&place.node_ips),
        "status.hostIPs" => place.node_ips.join(","),
        "status.podIP" => first(&place.pod_ips),
        "status.podIPs" => place.pod_ips.join(","),
        _ => return Err(EnvError::UnknownField(path.to_owned())),
    })
}

/// One `key="value"` a line, as the downward API writes whole maps.
fn listing(map: Option<&BTreeMap<String, String>>) -> String {
    let lines = map.into_iter().flatten().map(|(key, value)| format!("{key}={value:?}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// A limit or a request, in units of the divisor, rounded up.
pub(crate) fn resource(
    wanted: &ResourceFieldSelector,
    pod: &Pod,
    own: Option<&Container>,
    allocatable: impl Fn(&str) -> Option<Quantity>,
) -> Result<String, EnvError> {
    let spec = pod.spec.as_ref();
    let container = match &wanted.container_name {
        None => own,
        Some(name) => {
            let all = spec
                .into_iter()
                .flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
            let found = all.into_iter().find(|container| container.name == *name);
            Some(found.ok_or_else(|| EnvError::UnknownContainer(name.clone()))?)
        }
    };
    let unknown = || EnvError::UnknownResource(wanted.resource.clone());
    let (kind, resource) = wanted.resource.split_once('.').ok_or_else(unknown)?;
    let resources = container.and_then(|container| container.resources.as_ref());
    let (amounts, or_node) = match kind {
        "limits" => (resources.and_then(|resources| resources.limits.as_ref()), true),
        "requests" => (resources.and_then(|resources| resources.requests.as_ref()), false),
        _ => return Err(unknown()),
    };
    let set = amounts.and_then(|amounts| amounts.get(resource)).and_then(|amount| amount.0.parse().ok());
    // Whoever is not limited himself is limited with all of the pod, or by what the node has.
    let pods = || spec?.resources.as_ref()?.limits.as_ref()?.get(resource)?.0.parse().ok();
    let most = || pods().or_else(|| allocatable(resource));
    let amount: Option<Quantity> = set.or_else(|| or_node.then(most).flatten());
    let divisor = wanted.divisor.as_ref().and_then(|divisor| divisor.0.parse::<Quantity>().ok());
    let in_millis = resource == "cpu";
    let count = |quantity: &Quantity| {
        if in_millis { quantity.milli_value() } else { quantity.value() }
    };
    let amount = amount.as_ref().map_or(0, count);
    let unit = match divisor.as_ref().map(count) {
        Some(unit) if unit > 0 => unit,
        _ if in_millis => 1000,
        _ => 1,
    };
    // Rounded up, as a limit of half a core is one.
    Ok((amount / unit + i64::from(amount % unit > 0)).to_string())
}

/// The variables that tell of services, in the form that Docker's links once had.
fn services(services: &[&Service], namespace: &str, links: bool) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for service in services {
        let meta = &service.metadata;
        let is_api =
            meta.namespace.as_deref() == Some("default") && meta.name.as_deref() == Some("kubernetes");
        let near = links && meta.namespace.as_deref() == Some(namespace);
        if !is_api && !near {
            continue;
        }
        let Some(spec) = &service.spec else { continue };
        let Some(ip) = spec.cluster_ip.as_deref().filter(|ip| !ip.is_empty() && *ip != "None") else {
            continue;
        };
        let name = meta.name.as_deref().unwrap_or_default().to_uppercase().replace('-', "_");
        let host = if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() };
        let mut put = |key: String, value: String| drop(variables.insert(key, value));
        put(format!("{name}_SERVICE_HOST"), ip.to_owned());
        for (number, port) in spec.ports.iter().flatten().enumerate() {
            let protocol = port.protocol.as_deref().unwrap_or("TCP");
            let (lower, at) = (protocol.to_lowercase(), port.port);
            let address = format!("{lower}://{host}:{at}");
            if number == 0 {
                put(format!("{name}_SERVICE_PORT"), at.to_string());
                put(format!("{name}_PORT"), address.clone());
            }
            if let Some(port_name) = port.name.as_deref().filter(|name| !name.is_empty()) {
                let port_name = port_name.to_uppercase().replace('-', "_");
                put(format!("{name}_SERVICE_PORT_{port_name}"), at.to_string());
            }
            let base = format!("{name}_PORT_{at}_{protocol}");
            put(format!("{base}_PROTO"), lower);
            put(format!("{base}_PORT"), at.to_string());
            put(format!("{base}_ADDR"), ip.to_owned());
            put(base, address);
        }
    }
    variables
}

/// Secrets are bytes, variables are text.
fn text(value: &ByteString) -> String {
    String::from_utf8_lossy(&value.0).into_owned()
}

#[cfg(test)]
mod tests;
