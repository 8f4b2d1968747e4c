//! Objects of which only the metadata is wanted: `PartialObjectMetadata` and its list, cut from stored bytes.
//! The metadata is copied as it lies there; nothing is decoded that isn't needed to find it.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chunks::{Chunks, Rows};

/// The two versions of `meta.k8s.io` in which tables and partial objects are asked for; they differ only in name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// What a list says about itself.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMeta {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<u64>,
}

/// What is read of an object to cut out its metadata.
#[derive(Deserialize)]
struct Stored<'a> {
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Revision<'a> {
    #[serde(borrow, default, rename = "resourceVersion")]
    resource_version: Cow<'a, str>,
}

/// The metadata of a stored object, as it lies there; `{}` where it has none.
fn metadata(object: &[u8]) -> Result<&str, serde_json::Error> {
    let stored: Stored<'_> = serde_json::from_slice(object)?;
    Ok(stored.metadata.map_or("{}", RawValue::get))
}

/// The `resourceVersion` of a stored object.
pub(crate) fn revision(object: &[u8]) -> Result<String, serde_json::Error> {
    let revision: Revision<'_> = serde_json::from_str(metadata(object)?)?;
    Ok(revision.resource_version.into_owned())
}

/// One stored object as a `PartialObjectMetadata`.
pub fn object(object: &[u8], version: MetaVersion) -> Result<Bytes, serde_json::Error> {
    let mut out = Vec::new();
    write(object, version, &mut out)?;
    Ok(out.into())
}

pub(crate) fn write(object: &[u8], version: MetaVersion, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let metadata = metadata(object)?;
    out.extend_from_slice(br#"{"kind":"PartialObjectMetadata","apiVersion":""#);
    out.extend_from_slice(version.api_version().as_bytes());
    out.extend_from_slice(br#"","metadata":"#);
    out.extend_from_slice(metadata.as_bytes());
    out.push(b'}');
    Ok(())
}

/// A list of stored objects as a `PartialObjectMetadataList`, in chunks.
pub fn list<I>(items: I, meta: &ListMeta, version: MetaVersion) -> Chunks<I::IntoIter, Partial>
where
    I: IntoIterator,
    I::Item: AsRef<[u8]>,
{
    Chunks::new(items.into_iter(), Partial { version }, head(meta, version))
}

/// What stands before the items.
fn head(meta: &ListMeta, version: MetaVersion) -> Vec<u8> {
    let mut out = format!(
        r#"{{"kind":"PartialObjectMetadataList","apiVersion":"{}","metadata":"#,
        version.api_version()
    )
    .into_bytes();
    write_meta(meta, &mut out);
    out.extend_from_slice(br#","items":["#);
    out
}

pub(crate) fn write_meta(meta: &ListMeta, out: &mut Vec<u8>) {
    // Strings and a number into a Vec: there is nothing that could fail.
    let _infallible = serde_json::to_writer(out, meta);
}

/// Writes one item of the list.
#[derive(Debug)]
pub struct Partial {
    version: MetaVersion,
}

impl Rows for Partial {
    fn row(&self, object: &[u8], out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        write(object, self.version, out)
    }
}

#[cfg(test)]
mod tests;
