//! The API described for clients: OpenAPI v3, one document for each group and version, and v2 as JSON and protobuf.
//! A document is made when somebody first asks for it and then kept compressed. Knows no sockets.

mod enums;
mod gnostic;
mod operations;
mod parameters;
mod schema;
mod v2;
mod v3;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Write};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use kedge_kinds::{GroupVersion, Kind};
use serde_json::{Value, json};

use crate::etag::Fingerprint;

/// The level of the API that the documents say they describe.
const API_LEVEL: &str = "1.36";

/// All OpenAPI documents for one set of kinds.
#[derive(Debug)]
pub struct OpenApi {
    kinds: Vec<Arc<Kind>>,
    v3: BTreeMap<GroupVersion, Arc<Part>>,
    v2: OnceLock<Document>,
    v2_protobuf: OnceLock<Document>,
}

/// One group and version. Kept as long as its kinds are the same ones, whatever becomes of others.
#[derive(Debug, Default)]
struct Part {
    kinds: Vec<Arc<Kind>>,
    document: OnceLock<Document>,
}

impl Part {
    fn is_of(&self, kinds: &[Arc<Kind>]) -> bool {
        self.kinds.len() == kinds.len() && self.kinds.iter().zip(kinds).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// A finished document, compressed.
#[derive(Clone, Debug)]
pub struct Document {
    /// Without quotes.
    pub etag: String,
    gzip: Bytes,
}

impl Document {
    /// For clients that accept `gzip`.
    pub fn gzip(&self) -> Bytes {
        self.gzip.clone()
    }

    pub fn plain(&self) -> io::Result<Bytes> {
        let mut plain = Vec::new();
        GzDecoder::new(&*self.gzip).read_to_end(&mut plain)?;
        Ok(plain.into())
    }
}

impl OpenApi {
    pub fn new<'k>(kinds: impl IntoIterator<Item = &'k Arc<Kind>>) -> Self {
        Self::after(None, kinds)
    }

    /// Takes over from the documents of other kinds what didn't change.
    pub fn after<'k>(before: Option<&Self>, kinds: impl IntoIterator<Item = &'k Arc<Kind>>) -> Self {
        let kinds: Vec<Arc<Kind>> = kinds.into_iter().cloned().collect();
        let mut parts: BTreeMap<GroupVersion, Vec<Arc<Kind>>> = BTreeMap::new();
        for kind in &kinds {
            parts.entry(kind.gv.clone()).or_default().push(kind.clone());
        }
        let v3 = parts
            .into_iter()
            .map(|(gv, kinds)| {
                let known = before.and_then(|before| before.v3.get(&gv)).filter(|part| part.is_of(&kinds));
                let part = known.cloned();
                (gv, part.unwrap_or_else(|| Arc::new(Part { kinds, document: OnceLock::new() })))
            })
            .collect();
        Self { kinds, v3, v2: OnceLock::new(), v2_protobuf: OnceLock::new() }
    }

    /// `/openapi/v3`: where the documents lie. The names of their contents are in the addresses, so that clients may keep them.
    pub fn index(&self) -> io::Result<Bytes> {
        let mut paths = serde_json::Map::new();
        for gv in self.v3.keys() {
            let Some(document) = self.v3(&gv.group, &gv.version)? else { continue };
            let root = root(gv);
            let url = format!("/openapi/v3{root}?hash={}", document.etag);
            paths.insert(root.trim_start_matches('/').to_owned(), json!({ "serverRelativeURL": url }));
        }
        Ok(serde_json::to_vec(&json!({ "paths": paths }))?.into())
    }

    /// `/openapi/v3/api/v1` (the group is empty then) and `/openapi/v3/apis/{group}/{version}`.
    pub fn v3(&self, group: &str, version: &str) -> io::Result<Option<&Document>> {
        let gv = GroupVersion { group: group.into(), version: version.into() };
        let Some(place) = self.v3.get(&gv) else { return Ok(None) };
        let kinds: Vec<&Kind> = place.kinds.iter().map(AsRef::as_ref).collect();
        made(&place.document, |out| v3::write(&kinds, out)).map(Some)
    }

    /// `/openapi/v2` as JSON.
    pub fn v2(&self) -> io::Result<&Document> {
        made(&self.v2, |out| v2::write(&self.all(), out))
    }

    /// `/openapi/v2` as `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`.
    pub fn v2_protobuf(&self) -> io::Result<&Document> {
        made(&self.v2_protobuf, |out| gnostic::write(&self.all(), out))
    }

    fn all(&self) -> Vec<&Kind> {
        self.kinds.iter().map(AsRef::as_ref).collect()
    }
}

/// `/api/v1` or `/apis/{group}/{version}`.
fn root(gv: &GroupVersion) -> String {
    if gv.group.is_empty() {
        format!("/api/{}", gv.version)
    } else {
        format!("/apis/{}/{}", gv.group, gv.version)
    }
}

/// What every document says about itself.
fn info() -> Value {
    json!({"title": "Kubernetes", "version": API_LEVEL})
}

/// The document at this place, made now if nobody did before.
fn made(
    place: &OnceLock<Document>,
    write: impl FnOnce(&mut BufWriter<&mut Sink>) -> io::Result<()>,
) -> io::Result<&Document> {
    if let Some(document) = place.get() {
        return Ok(document);
    }
    let mut sink =
        Sink { gzip: GzEncoder::new(Vec::new(), Compression::fast()), fingerprint: Fingerprint::default() };
    // Documents are written in words; the compressor and the fingerprint are quicker on longer pieces.
    let mut out = BufWriter::with_capacity(32 * 1024, &mut sink);
    write(&mut out)?;
    out.flush()?;
    drop(out);
    let mut gzip = sink.gzip.finish()?;
    gzip.shrink_to_fit();
    let document = Document { etag: sink.fingerprint.to_string(), gzip: gzip.into() };
    Ok(place.get_or_init(|| document))
}

/// Takes a document as it is written; only its compressed form is ever whole in memory.
struct Sink {
    gzip: GzEncoder<Vec<u8>>,
    fingerprint: Fingerprint,
}

impl Write for Sink {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        self.gzip.write_all(content)?;
        self.fingerprint.add(content);
        Ok(content.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes `"name":{"key":value,…}` without ever holding more than one value.
fn write_map(
    out: &mut impl Write,
    name: &str,
    entries: impl Iterator<Item = (String, Value)>,
) -> io::Result<()> {
    write!(out, "{}:{{", Value::from(name))?;
    for (at, (key, value)) in entries.enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(out, "{comma}{}:", Value::from(key))?;
        serde_json::to_writer(&mut *out, &value)?;
    }
    out.write_all(b"}")
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
