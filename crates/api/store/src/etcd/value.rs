//! How an entry stands in etcd. The revision is etcd's and not known when the value is sent, so the value is the draft,
//! with a small header that says where its revision goes; whoever reads it writes it in.

use bytes::{BufMut, Bytes, BytesMut};

use super::wire::KeyValue;
use crate::{Draft, Entry, Revision};

const VERSION: u8 = 1;
const HEADER: usize = 5;
const NOWHERE: u32 = u32::MAX;

pub(crate) fn encode(draft: &Draft) -> Vec<u8> {
    let at = draft.revision_at.and_then(|offset| u32::try_from(offset).ok()).unwrap_or(NOWHERE);
    let mut value = BytesMut::with_capacity(HEADER + draft.bytes.len());
    value.put_u8(VERSION);
    value.put_u32_le(at);
    value.put_slice(&draft.bytes);
    value.into()
}

/// None if the value was not written by us.
pub(crate) fn decode(kv: &KeyValue) -> Option<Entry> {
    let (header, _) = kv.value.split_first_chunk::<HEADER>()?;
    let [VERSION, at @ ..] = *header else { return None };
    let bytes: Bytes = kv.value.slice(HEADER..);
    let draft = match u32::from_le_bytes(at) {
        // Copied, because the slice would keep the whole answer from etcd alive.
        NOWHERE => Draft::new(Bytes::copy_from_slice(&bytes)),
        at => Draft::with_revision_at(bytes, at as usize),
    };
    draft.is_sound().then(|| Entry::fill(&draft, revision(kv.create_revision), revision(kv.mod_revision)))
}

pub(crate) fn revision(number: i64) -> Revision {
    Revision::new(number.max(0) as u64)
}

pub(crate) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}
