//! What an image is made of, in the words of the OCI image specification.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
pub(crate) const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
pub(crate) const LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<Platform>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Platform {
    pub(crate) architecture: String,
    pub(crate) os: String,
}

impl Platform {
    /// Whether programs for it run here.
    pub(crate) fn is_ours(&self) -> bool {
        self.os == "linux" && self.architecture == architecture()
    }
}

/// What this machine is called in images.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Index {
    pub(crate) manifests: Vec<Descriptor>,
}

/// Where the bytes of a blob are.
#[derive(Clone, Debug)]
pub enum Blob {
    Memory(Bytes),
    /// A part of a file: an archive's entry is sent from where it lies.
    File {
        offset: u64,
        size: u64,
    },
}

impl Blob {
    pub fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { size, .. } => *size,
        }
    }
}

/// One image, whole: its names, its manifest, and every blob that the manifest tells of.
#[derive(Clone, Debug)]
pub struct Image {
    pub names: Vec<String>,
    pub(crate) manifest: Bytes,
    pub(crate) media_type: String,
    pub(crate) config: Digest,
    pub(crate) layers: Vec<Digest>,
    pub(crate) blobs: BTreeMap<Digest, Blob>,
}

impl Image {
    pub fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }

    /// What it weighs on the way into a store.
    pub fn size(&self) -> u64 {
        self.blobs.values().map(Blob::size).sum::<u64>() + self.manifest.len() as u64
    }
}
