//! Objects that many writes look at, as a namespace or a default class, read once for all of them. Holds a few of the latest.

use std::sync::{Arc, LazyLock};

use kedge_kinds::Status;
use kedge_store::Entry;
use parking_lot::Mutex;
use serde_json::Value;

use crate::registry::parse;

const SLOTS: usize = 64;
/// What is larger is read anew each time: holding it would cost more than it saves.
const LARGEST: usize = 16 * 1024;

type Slot = Mutex<Option<(Entry, Arc<Value>)>>;

/// For every registry in this process: a slot answers only for the very entry that it holds.
static SLOTS_BY_ADDRESS: LazyLock<Vec<Slot>> =
    LazyLock::new(|| (0..SLOTS).map(|_| Mutex::default()).collect());

/// The object in an entry.
pub(crate) fn parsed(entry: &Entry) -> Result<Arc<Value>, Status> {
    // Neighbours in memory are far from each other here.
    let mixed = (entry.bytes().as_ptr().addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let slot = SLOTS_BY_ADDRESS.get(mixed as usize % SLOTS).filter(|_| entry.bytes().len() <= LARGEST);
    let Some(slot) = slot else { return parse(entry).map(Arc::new) };
    if let Some((known, object)) = &*slot.lock()
        && known.same(entry)
    {
        return Ok(object.clone());
    }
    let object = Arc::new(parse(entry)?);
    *slot.lock() = Some((entry.clone(), object.clone()));
    Ok(object)
}

#[cfg(test)]
mod tests;
