//! One custom object in two forms: as a version serves it, and as it lies in the store, in whatever version it was
//! written. Built-in kinds take another way, `convert`.

use bytes::Bytes;
use kedge_kinds::kind::Conversion;
use kedge_kinds::{Kind, Status};
use kedge_store::{Entry, Revision};
use serde::Deserialize;
use serde_json::Value;

use super::webhook;
use crate::catalog::Catalog;
use crate::encode::encode;
use crate::object;
use crate::registry::{Registry, parse_bytes};

/// What every stored object begins with.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "apiVersion")]
    version: std::borrow::Cow<'a, str>,
}

/// The version that stored bytes are in. Objects are written with their kind and version first, so that it is found
/// without reading the rest.
fn version(kind: &Kind, bytes: &[u8]) -> Result<String, Status> {
    let rest = bytes
        .strip_prefix(br#"{"kind":""#)
        .and_then(|rest| rest.strip_prefix(kind.kind.as_bytes()))
        .and_then(|rest| rest.strip_prefix(br#"","apiVersion":""#));
    if let Some(rest) = rest
        && let Some(end) = rest.iter().position(|byte| *byte == b'"')
        && let Some(version) = rest.get(..end).and_then(|version| std::str::from_utf8(version).ok())
    {
        return Ok(version.to_owned());
    }
    let head: Head<'_> = serde_json::from_slice(bytes)
        .map_err(|error| Status::internal(format!("a stored object can't be read: {error}")))?;
    Ok(head.version.into_owned())
}

/// The same bytes under another version's name.
fn renamed(kind: &Kind, from: &str, bytes: &Bytes) -> Option<Bytes> {
    let before = format!(r#"{{"kind":"{}","apiVersion":"{from}""#, kind.kind);
    let rest = bytes.strip_prefix(before.as_bytes())?;
    let mut out = format!(r#"{{"kind":"{}","apiVersion":"{}""#, kind.kind, kind.gv).into_bytes();
    out.extend_from_slice(rest);
    Some(out.into())
}

/// The same kind in the version that an object says it is.
fn in_version<'c>(catalog: &'c Catalog, kind: &'c Kind, version: &str) -> Option<&'c Kind> {
    if version == kind.gv.to_string() {
        return Some(kind);
    }
    let (group, version) = version.split_once('/')?;
    catalog.by_kind(group, version, &kind.kind).map(|kind| &**kind)
}

/// What a definition says now also holds for what was written before it said so.
fn settle(kind: Option<&Kind>, object: &mut Value) {
    if let Some(rules) = kind.and_then(|kind| kind.rules.as_ref()) {
        rules.prune(object);
        rules.default(object);
    }
}

fn rename(object: &mut Value, version: &impl ToString) {
    object::as_map(object).insert("apiVersion".to_owned(), version.to_string().into());
}

/// The bytes that a client of this version gets, unless a webhook has to be asked for them. `written`: when the object
/// took this form, which for one that was deleted is before its last revision.
pub(crate) fn show(
    catalog: &Catalog,
    kind: &Kind,
    entry: &Entry,
    written: Revision,
) -> Result<Option<Bytes>, Status> {
    let version = version(kind, entry.bytes())?;
    let own = version == kind.gv.to_string();
    if !own && super::is_remote(kind) {
        return Ok(None);
    }
    let stored = in_version(catalog, kind, &version);
    let rules = stored.and_then(|kind| kind.rules.as_ref());
    let settled = rules.is_none_or(|rules| rules.is_settled(written.get()));
    if settled && own {
        return Ok(Some(entry.bytes().clone()));
    }
    if settled && let Some(bytes) = renamed(kind, &version, entry.bytes()) {
        return Ok(Some(bytes));
    }
    let mut object = parse_bytes(entry.bytes())?;
    settle(stored, &mut object);
    rename(&mut object, &kind.gv);
    Ok(Some(encode(&object).with_revision(entry.modified().get())))
}

/// Many objects as a client of this version gets them; a webhook is asked for all of them at once.
pub(crate) async fn served(
    registry: &Registry,
    kind: &Kind,
    entries: &[(Entry, Revision)],
) -> Result<Vec<Bytes>, Status> {
    let catalog = registry.catalog();
    let mut shown = Vec::with_capacity(entries.len());
    let mut foreign = Vec::new();
    for (entry, written) in entries {
        let bytes = show(&catalog, kind, entry, *written)?;
        if bytes.is_none() {
            let mut object = parse_bytes(entry.bytes())?;
            settle(in_version(&catalog, kind, object::text(&object, &["apiVersion"])), &mut object);
            foreign.push(object);
        }
        shown.push(bytes.unwrap_or_default());
    }
    if !foreign.is_empty() {
        let converted = Box::pin(webhook::convert(registry, kind, &kind.gv, foreign)).await?;
        let waiting = shown.iter_mut().zip(entries).filter(|(bytes, _)| bytes.is_empty());
        for ((bytes, (entry, _)), object) in waiting.zip(converted) {
            *bytes = encode(&object).with_revision(entry.modified().get());
        }
    }
    Ok(shown)
}

/// A stored object in the version of the kind, with everything that its definition says now.
pub(crate) async fn read(registry: &Registry, kind: &Kind, entry: &Entry) -> Result<Value, Status> {
    let mut object = parse_bytes(entry.bytes())?;
    let catalog = registry.catalog();
    let version = object::text(&object, &["apiVersion"]).to_owned();
    settle(in_version(&catalog, kind, &version), &mut object);
    if version == kind.gv.to_string() {
        return Ok(object);
    }
    if super::is_remote(kind) {
        let converted = Box::pin(webhook::convert(registry, kind, &kind.gv, vec![object])).await?;
        return converted.into_iter().next().ok_or_else(|| Status::internal("a conversion lost its object"));
    }
    rename(&mut object, &kind.gv);
    Ok(object)
}

/// An object of one served version in another.
pub(crate) async fn between(
    registry: &Registry,
    from: &Kind,
    to: &Kind,
    mut object: Value,
) -> Result<Value, Status> {
    if super::is_remote(from) {
        let converted = Box::pin(webhook::convert(registry, from, &to.gv, vec![object])).await?;
        return converted.into_iter().next().ok_or_else(|| Status::internal("a conversion lost its object"));
    }
    rename(&mut object, &to.gv);
    Ok(object)
}

/// An object of this kind in the version that is stored.
pub(crate) async fn stored(registry: &Registry, kind: &Kind, mut object: Value) -> Result<Value, Status> {
    if kind.rules.is_none() || kind.gv == kind.stored_as {
        return Ok(object);
    }
    let rules = kind.rules.as_ref();
    match rules.map(|rules| rules.conversion()) {
        Some(Conversion::Webhook(_)) => {
            let converted = Box::pin(webhook::convert(registry, kind, &kind.stored_as, vec![object])).await?;
            let converted = converted.into_iter().next();
            object = converted.ok_or_else(|| Status::internal("a conversion lost its object"))?;
        }
        Some(Conversion::Rename) | None => rename(&mut object, &kind.stored_as),
    }
    // What is stored is in the form of its own version, so that it can be sent as it is.
    settle(in_version(&registry.catalog(), kind, &kind.stored_as.to_string()), &mut object);
    Ok(object)
}
