//! What a transaction does to the map, decided without any engine: no disk, no lock, no clock.

use crate::snapshot::State;
use crate::txn::Op;
use crate::{Change, Committed, Entry, Event, Revision, StoreError, Txn, Write};

/// The effect of one transaction: what its caller hears and what watchers see.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) committed: Committed,
    pub(crate) events: Vec<Event>,
}

/// Carries `txn` out on `state` at `revision`, or changes nothing and says why not. A transaction without an effect
/// takes no revision: then there are no events and the state keeps its own.
pub(crate) fn apply(state: &mut State, txn: &Txn, revision: Revision) -> Result<Applied, StoreError> {
    refuse_nonsense(txn)?;
    expect(state, txn)?;
    let mut events = Vec::with_capacity(txn.ops.len());
    let mut entries = Vec::with_capacity(txn.ops.len());
    for op in &txn.ops {
        let change = step(state, op, revision);
        entries.push(change.as_ref().map(|change| change.entry().clone()));
        events.extend(change.map(|change| Event { key: op.key.clone(), revision, change }));
    }
    if !events.is_empty() {
        state.revision = revision;
    }
    Ok(Applied { committed: Committed { revision: state.revision, entries }, events })
}

/// Puts an entry that already has its revisions, as the log and etcd hand them over.
pub(crate) fn put(state: &mut State, key: crate::Key, now: Entry) -> Change {
    state.bytes += now.bytes().len() as u64;
    let before = state.map.insert(key, now.clone());
    state.bytes -= before.as_ref().map_or(0, |before| before.bytes().len() as u64);
    Change::Put { now, before }
}

/// Deletes a key at `revision`, if it is there.
pub(crate) fn delete(state: &mut State, key: &str, revision: Revision) -> Option<Change> {
    let before = state.map.remove(key)?;
    state.bytes -= before.bytes().len() as u64;
    Some(Change::Delete { last: before.deleted_at(revision), before })
}

fn step(state: &mut State, op: &Op, revision: Revision) -> Option<Change> {
    match &op.write {
        Write::Check => None,
        Write::Delete => delete(state, op.key.as_str(), revision),
        Write::Put(draft) => {
            let created = state.map.get(op.key.as_str()).map_or(revision, Entry::created);
            Some(put(state, op.key.clone(), Entry::fill(draft, created, revision)))
        }
    }
}

/// What no state could make right.
pub(crate) fn refuse_nonsense(txn: &Txn) -> Result<(), StoreError> {
    let writes = |op: &&Op| op.write != Write::Check;
    for (index, op) in txn.ops.iter().enumerate().filter(|(_, op)| writes(op)) {
        // A transaction has a handful of operations: comparing each with those before it beats building a set.
        if txn.ops[..index].iter().filter(writes).any(|earlier| earlier.key == op.key) {
            return Err(StoreError::Twice { key: op.key.clone() });
        }
        if let Write::Put(draft) = &op.write
            && !draft.is_sound()
        {
            let (offset, len) = (draft.revision_at.unwrap_or(0), draft.bytes.len());
            return Err(StoreError::Hole { key: op.key.clone(), offset, len });
        }
    }
    Ok(())
}

fn expect(state: &State, txn: &Txn) -> Result<(), StoreError> {
    for op in &txn.ops {
        let found = state.map.get(op.key.as_str()).map(Entry::modified);
        if !op.expect.holds(found) {
            return Err(StoreError::Conflict { key: op.key.clone(), expected: op.expect, found });
        }
    }
    Ok(())
}
