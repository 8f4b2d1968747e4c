//! The volumes that a pod lists, looked up and made. What cannot be made yet is named in words that people see in events.

mod projected;

use std::collections::HashMap;
use std::path::PathBuf;

use k8s_openapi::api::core::v1::{
    ConfigMap, HostPathVolumeSource, KeyToPath, PersistentVolume, PersistentVolumeClaim, Pod, Secret,
    Volume as Listed,
};
use kedge_kinds::Quantity;
use kedge_mounts::{Content, HostKind, Medium, MountError, Volume};
use kube::Api;

use crate::spec::env::EnvError;
use crate::tools::Tools;

#[derive(Debug, thiserror::Error)]
pub(crate) enum VolumeError {
    #[error("MountVolume.SetUp failed for volume \"{name}\" : {source}")]
    Volume { name: String, source: Box<VolumeError> },
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("{0} \"{1}\" not found")]
    Absent(&'static str, String),
    #[error("references non-existent {0} key: {1}")]
    NoKey(&'static str, String),
    #[error("persistentvolumeclaim \"{0}\" is not bound")]
    Unbound(String),
    #[error("volumes of this kind are not supported: {0}")]
    Unsupported(String),
    #[error(transparent)]
    Field(#[from] EnvError),
    #[error("the API cannot be asked")]
    Api(#[from] Box<kube::Error>),
}

impl From<kube::Error> for VolumeError {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}

/// Where each volume of the pod is on the node.
pub(crate) async fn prepare(tools: &Tools, pod: &Pod) -> Result<HashMap<String, PathBuf>, VolumeError> {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let mut places = HashMap::new();
    for listed in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
        let named =
            |source: VolumeError| VolumeError::Volume { name: listed.name.clone(), source: Box::new(source) };
        let volume = look_up(tools, pod, listed).await.map_err(named)?;
        let place = tools.mounts.prepare(uid, &listed.name, &volume).map_err(|error| named(error.into()))?;
        places.insert(listed.name.clone(), place);
    }
    Ok(places)
}

async fn look_up(tools: &Tools, pod: &Pod, listed: &Listed) -> Result<Volume, VolumeError> {
    if let Some(source) = &listed.empty_dir {
        let limit = source.size_limit.as_ref().and_then(|limit| limit.0.parse::<Quantity>().ok());
        let limit = limit.and_then(|limit| u64::try_from(limit.value()).ok());
        let medium = match source.medium.as_deref() {
            Some("Memory") => Medium::Memory { limit },
            _ => Medium::Disk,
        };
        return Ok(Volume::Empty { medium });
    }
    if let Some(source) = &listed.host_path {
        return Ok(host(source));
    }
    if let Some(source) = &listed.config_map {
        let optional = source.optional == Some(true);
        let found = config_map(tools, pod, &source.name).await?;
        let mode = source.default_mode.unwrap_or(0o644);
        return of_map(&source.name, found, source.items.as_deref(), mode, optional)
            .map(|files| Volume::Files { files });
    }
    if let Some(source) = &listed.secret {
        let name = source.secret_name.as_deref().unwrap_or_default();
        let optional = source.optional == Some(true);
        let found = secret(tools, pod, name).await?;
        let mode = source.default_mode.unwrap_or(0o644);
        return of_secret(name, found, source.items.as_deref(), mode, optional)
            .map(|files| Volume::Files { files });
    }
    if let Some(source) = &listed.downward_api {
        let mode = source.default_mode.unwrap_or(0o644);
        let files = projected::facts(tools, pod, source.items.as_deref().unwrap_or_default(), mode)?;
        return Ok(Volume::Files { files });
    }
    if let Some(source) = &listed.projected {
        return Ok(Volume::Files { files: projected::files(tools, pod, source).await? });
    }
    if let Some(source) = &listed.persistent_volume_claim {
        return claimed(tools, pod, &source.claim_name).await;
    }
    if listed.ephemeral.is_some() {
        let name = format!("{}-{}", pod.metadata.name.as_deref().unwrap_or_default(), listed.name);
        return claimed(tools, pod, &name).await;
    }
    Err(VolumeError::Unsupported(listed.name.clone()))
}

fn host(source: &HostPathVolumeSource) -> Volume {
    let kind = match source.type_.as_deref().unwrap_or_default() {
        "Directory" => HostKind::Folder,
        "DirectoryOrCreate" => HostKind::FolderOrNew,
        "File" => HostKind::File,
        "FileOrCreate" => HostKind::FileOrNew,
        "Socket" => HostKind::Socket,
        "CharDevice" => HostKind::CharDevice,
        "BlockDevice" => HostKind::BlockDevice,
        _ => HostKind::Any,
    };
    Volume::Host { path: PathBuf::from(&source.path), kind }
}

async fn config_map(tools: &Tools, pod: &Pod, name: &str) -> Result<Option<ConfigMap>, VolumeError> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    Ok(Api::<ConfigMap>::namespaced(tools.client.clone(), namespace).get_opt(name).await?)
}

async fn secret(tools: &Tools, pod: &Pod, name: &str) -> Result<Option<Secret>, VolumeError> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    Ok(Api::<Secret>::namespaced(tools.client.clone(), namespace).get_opt(name).await?)
}

fn of_map(
    name: &str,
    found: Option<ConfigMap>,
    items: Option<&[KeyToPath]>,
    mode: i32,
    optional: bool,
) -> Result<Vec<Content>, VolumeError> {
    let Some(found) = found else {
        return if optional {
            Ok(Vec::new())
        } else {
            Err(VolumeError::Absent("configmap", name.to_owned()))
        };
    };
    let text = found.data.into_iter().flatten().map(|(key, value)| (key, value.into_bytes()));
    let binary = found.binary_data.into_iter().flatten().map(|(key, value)| (key, value.0));
    select("config", text.chain(binary).collect(), items, mode, optional)
}

fn of_secret(
    name: &str,
    found: Option<Secret>,
    items: Option<&[KeyToPath]>,
    mode: i32,
    optional: bool,
) -> Result<Vec<Content>, VolumeError> {
    let Some(found) = found else {
        return if optional { Ok(Vec::new()) } else { Err(VolumeError::Absent("secret", name.to_owned())) };
    };
    let data = found.data.into_iter().flatten().map(|(key, value)| (key, value.0)).collect();
    select("secret", data, items, mode, optional)
}

/// All keys, or those that are listed, each at its own path.
fn select(
    what: &'static str,
    mut data: HashMap<String, Vec<u8>>,
    items: Option<&[KeyToPath]>,
    mode: i32,
    optional: bool,
) -> Result<Vec<Content>, VolumeError> {
    let content =
        |path: String, mode: i32, bytes| Content { path, mode: mode.cast_unsigned() & 0o777, bytes };
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        let mut files: Vec<_> = data.into_iter().map(|(key, bytes)| content(key, mode, bytes)).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        return Ok(files);
    };
    let mut files = Vec::new();
    for item in items {
        match data.remove(&item.key) {
            Some(bytes) => {
                data.insert(item.key.clone(), bytes.clone());
                files.push(content(item.path.clone(), item.mode.unwrap_or(mode), bytes));
            }
            None if optional => {}
            None => return Err(VolumeError::NoKey(what, item.key.clone())),
        }
    }
    Ok(files)
}

/// The volume that a claim has got.
async fn claimed(tools: &Tools, pod: &Pod, name: &str) -> Result<Volume, VolumeError> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let claims = Api::<PersistentVolumeClaim>::namespaced(tools.client.clone(), namespace);
    let absent = || VolumeError::Absent("persistentvolumeclaim", name.to_owned());
    let claim = claims.get_opt(name).await?.ok_or_else(absent)?;
    let bound = claim.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Bound");
    let volume = claim.spec.and_then(|spec| spec.volume_name).filter(|_| bound);
    let volume = volume.ok_or_else(|| VolumeError::Unbound(name.to_owned()))?;
    let volumes = Api::<PersistentVolume>::all(tools.client.clone());
    let absent = || VolumeError::Absent("persistentvolume", volume.clone());
    let found = volumes.get_opt(&volume).await?.ok_or_else(absent)?;
    let spec = found.spec.unwrap_or_default();
    match (&spec.host_path, &spec.local) {
        (Some(source), _) => Ok(host(source)),
        (_, Some(source)) => Ok(Volume::Host { path: PathBuf::from(&source.path), kind: HostKind::Folder }),
        _ => Err(VolumeError::Unsupported(volume)),
    }
}
