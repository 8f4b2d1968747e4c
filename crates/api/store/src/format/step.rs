//! What stands inside a record: steps that lead from one state to the next. Pure, and trusts no byte that it reads.

use bytes::Bytes;

use crate::apply;
use crate::entry::Hole;
use crate::error::{Damage, StoreError};
use crate::seal::Sealer;
use crate::snapshot::State;
use crate::{Change, Entry, Event, Key, Revision};

const BEGIN: u8 = 0;
const PUT: u8 = 1;
const DELETE: u8 = 2;
const KEPT: u8 = 3;
/// The same with a value that is sealed; the place for its revision is that in the value behind it.
const PUT_SEALED: u8 = 4;
const KEPT_SEALED: u8 = 5;

/// The most that a step of a key and a value takes besides them.
const OVERHEAD: usize = 1 + 4 + 8 + 8 + 4 + 4;
/// What sealing adds at the most.
const SEALED: usize = 64;

/// Adds a transaction: its revision, then what happened to each key.
pub(crate) fn encode_txn(
    out: &mut Vec<u8>,
    revision: Revision,
    events: &[Event],
    sealer: &Sealer,
) -> Result<(), StoreError> {
    out.push(BEGIN);
    out.extend_from_slice(&revision.get().to_le_bytes());
    for event in events {
        match &event.change {
            Change::Put { now, .. } => {
                let sealed = sealed(sealer, &event.key, now)?;
                out.push(if sealed.is_some() { PUT_SEALED } else { PUT });
                text(out, event.key.as_str().as_bytes());
                out.extend_from_slice(&now.hole().raw_offset().to_le_bytes());
                text(out, sealed.as_deref().unwrap_or(now.bytes()));
            }
            Change::Delete { .. } => {
                out.push(DELETE);
                text(out, event.key.as_str().as_bytes());
            }
        }
    }
    Ok(())
}

fn sealed(sealer: &Sealer, key: &Key, entry: &Entry) -> Result<Option<Vec<u8>>, StoreError> {
    sealer.seal(key.as_str(), entry.bytes()).map_err(|()| StoreError::Unsealable { key: key.clone() })
}

/// Adds an entry with its history, as a snapshot keeps it.
pub(crate) fn encode_kept(
    out: &mut Vec<u8>,
    key: &Key,
    entry: &Entry,
    sealer: &Sealer,
) -> Result<(), StoreError> {
    let sealed = sealed(sealer, key, entry)?;
    out.push(if sealed.is_some() { KEPT_SEALED } else { KEPT });
    text(out, key.as_str().as_bytes());
    out.extend_from_slice(&entry.created().get().to_le_bytes());
    out.extend_from_slice(&entry.modified().get().to_le_bytes());
    out.extend_from_slice(&entry.hole().raw_offset().to_le_bytes());
    text(out, sealed.as_deref().unwrap_or(entry.bytes()));
    Ok(())
}

/// No less than what writing `value` under `key` takes.
pub(crate) fn size(key: &Key, value: usize) -> usize {
    OVERHEAD + SEALED + key.as_str().len() + value + 20
}

/// Carries out the steps of a record's `body` on `state`, leaving out transactions that it already holds.
/// `seen` gets the events of each transaction.
pub(crate) fn replay(
    state: &mut State,
    mut body: &[u8],
    sealer: &Sealer,
    mut seen: impl FnMut(Vec<Event>),
) -> Result<(), Damage> {
    let mut events = Vec::new();
    // Steps before a transaction begins belong to a snapshot and have no event.
    let mut at: Option<Revision> = None;
    while let Some(tag) = take(&mut body, 1).and_then(|tag| tag.first().copied()) {
        match tag {
            BEGIN => {
                let next = Revision::new(number(&mut body)?);
                if at.is_some_and(|at| next <= at) {
                    return Err(Damage::Order);
                }
                finish(state, at, &mut events, &mut seen);
                at = Some(next);
            }
            PUT | PUT_SEALED => {
                let (key, hole, value) = (key(&mut body)?, short(&mut body)?, slice(&mut body)?);
                let revision = at.ok_or(Damage::Meaning)?;
                if revision > state.revision {
                    let created = state.map.get(key).map_or(revision, Entry::created);
                    let value = sealer.read(key, value, tag == PUT_SEALED)?;
                    let entry = entry(&value, created, revision, hole)?;
                    let key = Key::from(key);
                    let change = apply::put(state, key.clone(), entry);
                    events.push(Event { key, revision, change });
                }
            }
            DELETE => {
                let key = key(&mut body)?;
                let revision = at.ok_or(Damage::Meaning)?;
                if revision > state.revision {
                    let change = apply::delete(state, key, revision).ok_or(Damage::Meaning)?;
                    events.push(Event { key: key.into(), revision, change });
                }
            }
            KEPT | KEPT_SEALED => {
                let key = key(&mut body)?;
                let (created, modified) = (number(&mut body)?, number(&mut body)?);
                let (hole, value) = (short(&mut body)?, slice(&mut body)?);
                let value = sealer.read(key, value, tag == KEPT_SEALED)?;
                let entry = entry(&value, Revision::new(created), Revision::new(modified), hole)?;
                apply::put(state, key.into(), entry);
            }
            _ => return Err(Damage::Meaning),
        }
    }
    finish(state, at, &mut events, &mut seen);
    Ok(())
}

fn finish(
    state: &mut State,
    at: Option<Revision>,
    events: &mut Vec<Event>,
    seen: &mut impl FnMut(Vec<Event>),
) {
    if let Some(at) = at.filter(|at| *at > state.revision) {
        state.revision = at;
        seen(std::mem::take(events));
    }
}

fn entry(value: &[u8], created: Revision, modified: Revision, hole: u32) -> Result<Entry, Damage> {
    let hole = Hole::at(hole, modified);
    match hole.offset() {
        Some(offset) if offset > value.len() => Err(Damage::Meaning),
        _ => Ok(Entry::stored(Bytes::copy_from_slice(value), created, modified, hole)),
    }
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn take<'a>(body: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = body.split_at_checked(len)?;
    *body = tail;
    Some(head)
}

fn number(body: &mut &[u8]) -> Result<u64, Damage> {
    let bytes = take(body, 8).and_then(|bytes| bytes.first_chunk()).ok_or(Damage::Meaning)?;
    Ok(u64::from_le_bytes(*bytes))
}

fn short(body: &mut &[u8]) -> Result<u32, Damage> {
    let bytes = take(body, 4).and_then(|bytes| bytes.first_chunk()).ok_or(Damage::Meaning)?;
    Ok(u32::from_le_bytes(*bytes))
}

fn slice<'a>(body: &mut &'a [u8]) -> Result<&'a [u8], Damage> {
    let len = short(body)? as usize;
    take(body, len).ok_or(Damage::Meaning)
}

fn key<'a>(body: &mut &'a [u8]) -> Result<&'a str, Damage> {
    std::str::from_utf8(slice(body)?).map_err(|_| Damage::Meaning)
}
