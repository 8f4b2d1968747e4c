//! The files of a volume, from the objects that it names and the pod's own facts. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, ProjectedVolumeSource, Secret, Volume,
};
use kedge_kinds::Quantity;
use kedge_mounts::{Content, Files};

use super::cause::Cause;
use super::gather::{Gathered, Looked};
use super::token::TokenWanted;
use super::uses;
use crate::spec::env::{self, Place};

const USUAL_MODE: i32 = 0o644;
/// Of what only the pod's own user and group may see.
const PRIVATE: u32 = 0o600;

/// What is known of the node.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) place: &'a Place,
    pub(super) allocatable: &'a HashMap<String, Quantity>,
}

/// None if it is no volume of files.
pub(super) fn of(
    volume: &Volume,
    pod: &Pod,
    gathered: &Gathered,
    known: Known<'_>,
) -> Result<Option<Files>, Cause> {
    let mode = |mode: Option<i32>| mode.unwrap_or(USUAL_MODE);
    let (files, in_memory) = if let Some(source) = &volume.config_map {
        let optional = source.optional == Some(true);
        let found = named(&gathered.maps, "configmap", &source.name, optional)?;
        (of_map(found, source.items.as_deref(), mode(source.default_mode), optional)?, false)
    } else if let Some(source) = &volume.secret {
        let optional = source.optional == Some(true);
        let name = source.secret_name.as_deref().unwrap_or_default();
        let found = named(&gathered.secrets, "secret", name, optional)?;
        (of_secret(found, source.items.as_deref(), mode(source.default_mode), optional)?, true)
    } else if let Some(source) = &volume.downward_api {
        (facts(source.items.as_deref(), mode(source.default_mode), pod, known)?, true)
    } else if let Some(source) = &volume.projected {
        (projected(source, pod, gathered, known)?, true)
    } else {
        return Ok(None);
    };
    // What is wanted last at a path is what is there.
    let files: BTreeMap<String, Content> = files.into_iter().map(|file| (file.path.clone(), file)).collect();
    let files = files.into_values().collect();
    Ok(Some(Files { files, in_memory, folders: uses::nested(pod, &volume.name) }))
}

fn projected(
    source: &ProjectedVolumeSource,
    pod: &Pod,
    gathered: &Gathered,
    known: Known<'_>,
) -> Result<Vec<Content>, Cause> {
    let mode = source.default_mode.unwrap_or(USUAL_MODE);
    let mut files = Vec::new();
    let mut wrong = Vec::new();
    for part in source.sources.iter().flatten() {
        let made = if let Some(wanted) = &part.config_map {
            let optional = wanted.optional == Some(true);
            named(&gathered.maps, "configmap", &wanted.name, optional)
                .and_then(|found| of_map(found, wanted.items.as_deref(), mode, optional))
        } else if let Some(wanted) = &part.secret {
            let optional = wanted.optional == Some(true);
            named(&gathered.secrets, "secret", &wanted.name, optional)
                .and_then(|found| of_secret(found, wanted.items.as_deref(), mode, optional))
        } else if let Some(wanted) = &part.downward_api {
            facts(wanted.items.as_deref(), mode, pod, known)
        } else if let Some(wanted) = &part.service_account_token {
            token(&wanted.path, TokenWanted::of(wanted), mode, pod, gathered)
        } else {
            Err(Cause::Unsupported("projected clusterTrustBundle and podCertificate"))
        };
        match made {
            Ok(mut made) => files.append(&mut made),
            Err(cause) => wrong.push(cause),
        }
    }
    match Cause::of(wrong) {
        None => Ok(files),
        Some(cause) => Err(cause),
    }
}

/// A token is its user's alone, if there is one.
fn token(
    path: &str,
    wanted: TokenWanted,
    mode: i32,
    pod: &Pod,
    gathered: &Gathered,
) -> Result<Vec<Content>, Cause> {
    let owner = uses::user(pod);
    let mode = if owner.is_some() || uses::group(pod).is_some() { PRIVATE } else { bits(mode) };
    match gathered.tokens.get(&wanted) {
        Some(Ok(token)) => {
            let bytes = token.text.clone().into_bytes();
            Ok(vec![Content { path: path.to_owned(), mode, bytes, owner }])
        }
        Some(Err(error)) => Err(Cause::Token(error.clone())),
        None => Err(Cause::Unknown),
    }
}

/// An optional one that is not there is like one without keys.
fn named<'g, K>(
    looked: &'g HashMap<String, Looked<K>>,
    what: &'static str,
    name: &str,
    optional: bool,
) -> Result<Option<&'g K>, Cause> {
    match looked.get(name) {
        Some(Ok(Some(found))) => Ok(Some(Arc::as_ref(found))),
        Some(Err(error)) => Err(Cause::Api(what, name.to_owned(), error.clone())),
        Some(Ok(None)) if optional => Ok(None),
        Some(Ok(None)) => Err(Cause::Absent(what, name.to_owned())),
        None => Err(Cause::Unknown),
    }
}

fn of_map(
    found: Option<&ConfigMap>,
    items: Option<&[KeyToPath]>,
    mode: i32,
    optional: bool,
) -> Result<Vec<Content>, Cause> {
    let text = found.iter().flat_map(|map| map.data.iter().flatten());
    let binary = found.iter().flat_map(|map| map.binary_data.iter().flatten());
    let data = text.map(|(key, value)| (key.as_str(), value.as_bytes()));
    let data = data.chain(binary.map(|(key, value)| (key.as_str(), value.0.as_slice())));
    select(data.collect(), items, mode, optional, Cause::NoMapKey)
}

fn of_secret(
    found: Option<&Secret>,
    items: Option<&[KeyToPath]>,
    mode: i32,
    optional: bool,
) -> Result<Vec<Content>, Cause> {
    let data = found.iter().flat_map(|secret| secret.data.iter().flatten());
    let data = data.map(|(key, value)| (key.as_str(), value.0.as_slice()));
    select(data.collect(), items, mode, optional, Cause::NoSecretKey)
}

/// All keys, or those that are listed, each at its own path.
fn select(
    data: BTreeMap<&str, &[u8]>,
    items: Option<&[KeyToPath]>,
    mode: i32,
    optional: bool,
    missing: fn(String) -> Cause,
) -> Result<Vec<Content>, Cause> {
    let content = |path: &str, mode: i32, bytes: &[u8]| Content {
        path: path.to_owned(),
        mode: bits(mode),
        bytes: bytes.to_vec(),
        owner: None,
    };
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        return Ok(data.into_iter().map(|(key, bytes)| content(key, mode, bytes)).collect());
    };
    let mut files = Vec::new();
    for item in items {
        match data.get(&*item.key) {
            Some(bytes) => files.push(content(&item.path, item.mode.unwrap_or(mode), bytes)),
            None if optional => {}
            None => return Err(missing(item.key.clone())),
        }
    }
    Ok(files)
}

fn facts(
    items: Option<&[DownwardAPIVolumeFile]>,
    mode: i32,
    pod: &Pod,
    known: Known<'_>,
) -> Result<Vec<Content>, Cause> {
    let of = |item: &DownwardAPIVolumeFile| {
        let text = match (&item.field_ref, &item.resource_field_ref) {
            (Some(wanted), _) => env::field(wanted, pod, known.place)?,
            (_, Some(wanted)) => {
                env::resource(wanted, pod, None, |name| known.allocatable.get(name).copied())?
            }
            _ => String::new(),
        };
        let mode = bits(item.mode.unwrap_or(mode));
        Ok(Content { path: item.path.clone(), mode, bytes: text.into_bytes(), owner: None })
    };
    items.into_iter().flatten().map(of).collect()
}

fn bits(mode: i32) -> u32 {
    mode.cast_unsigned() & 0o777
}

#[cfg(test)]
mod tests;
