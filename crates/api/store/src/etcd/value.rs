//! How an entry stands in etcd. The revision is etcd's and not known when the value is sent, so the value is the draft,
//! with a small header that says where its revision goes; whoever reads it writes it in.

use bytes::{BufMut, Bytes, BytesMut};

use super::wire::KeyValue;
use crate::error::StoreError;
use crate::seal::Sealer;
use crate::{Draft, Entry, Key, Revision};

const VERSION: u8 = 1;
/// The same with a draft that is sealed.
const SEALED: u8 = 2;
const HEADER: usize = 5;
const NOWHERE: u32 = u32::MAX;

pub(crate) fn encode(key: &Key, draft: &Draft, sealer: &Sealer) -> Result<Vec<u8>, StoreError> {
    let sealed = sealer.seal(key.as_str(), &draft.bytes);
    let sealed = sealed.map_err(|()| StoreError::Unsealable { key: key.clone() })?;
    let bytes = sealed.as_deref().unwrap_or(&draft.bytes);
    let at = draft.revision_at.and_then(|offset| u32::try_from(offset).ok()).unwrap_or(NOWHERE);
    let mut value = BytesMut::with_capacity(HEADER + bytes.len());
    value.put_u8(if sealed.is_some() { SEALED } else { VERSION });
    value.put_u32_le(at);
    value.put_slice(bytes);
    Ok(value.into())
}

/// The entry, or what it is if it was not written by us.
pub(crate) fn decode(key: &Key, kv: &KeyValue, sealer: &Sealer) -> Result<Entry, StoreError> {
    let foreign = || StoreError::Foreign { key: key.clone() };
    let (header, _) = kv.value.split_first_chunk::<HEADER>().ok_or_else(foreign)?;
    let [version @ (VERSION | SEALED), at @ ..] = *header else { return Err(foreign()) };
    let stands: Bytes = kv.value.slice(HEADER..);
    let bytes = match version {
        SEALED => sealer
            .open(key.as_str(), &stands)
            .map_err(|why| StoreError::Shut { key: key.clone(), why })?
            .into(),
        _ => stands,
    };
    let draft = match u32::from_le_bytes(at) {
        // Copied, because the slice would keep the whole answer from etcd alive.
        NOWHERE => Draft::new(Bytes::copy_from_slice(&bytes)),
        at => Draft::with_revision_at(bytes, at as usize),
    };
    match draft.is_sound() {
        true => Ok(Entry::fill(&draft, revision(kv.create_revision), revision(kv.mod_revision))),
        false => Err(foreign()),
    }
}

/// The draft to write again, if the value would stand otherwise today.
pub(crate) fn renewed(key: &Key, kv: &KeyValue, sealer: &Sealer) -> Result<Option<Draft>, StoreError> {
    let Some((header, stands)) = kv.value.split_first_chunk::<HEADER>() else { return Ok(None) };
    let [version, at @ ..] = *header;
    if !sealer.is_old(key.as_str(), stands, version == SEALED) {
        return Ok(None);
    }
    let value = sealer.read(key.as_str(), stands, version == SEALED);
    let value = value.map_err(|why| StoreError::Shut { key: key.clone(), why })?.into_owned();
    Ok(Some(match u32::from_le_bytes(at) {
        NOWHERE => Draft::new(value),
        at => Draft::with_revision_at(value, at as usize),
    }))
}

pub(crate) fn revision(number: i64) -> Revision {
    Revision::new(number.max(0) as u64)
}

pub(crate) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}
