//! The items of a list, read out of a snapshot as they are sent: nobody waits for the last one to get the first.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use kedge_store::{Entry, Key, Snapshot};

use crate::catalog::Catalog;
use crate::registry::parse;
use crate::request::At;
use crate::served::Served;
use crate::{convert, custom, encode};

/// The items, read out of the snapshot as they are taken. A clone gives the same ones again.
#[derive(Clone, Debug)]
pub struct Items {
    ready: VecDeque<Served>,
    rest: Option<Rest>,
    /// How many are read next.
    chunk: usize,
}

/// What is still to be read: all that lies behind a key, or as many of it as a page holds.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    pub(super) snapshot: Snapshot,
    pub(super) catalog: Arc<Catalog>,
    pub(super) at: At,
    pub(super) prefix: String,
    pub(super) after: Option<Key>,
    pub(super) limit: Option<usize>,
}

/// How many items are read out of a snapshot at a time: a walk from the top for each would be wasteful. The first ones are few, as
/// somebody waits for them.
const CHUNK: usize = 256;
const FIRST: usize = 16;

impl Items {
    /// Items that are at hand.
    pub fn ready(items: Vec<Served>) -> Self {
        Self { ready: items.into(), rest: None, chunk: 0 }
    }

    /// Items that were made.
    pub fn made(items: Vec<Bytes>) -> Self {
        Self::ready(items.into_iter().map(Served::Made).collect())
    }

    pub(super) fn of(rest: Rest) -> Self {
        Self { ready: VecDeque::new(), rest: Some(rest), chunk: FIRST }
    }

    fn refill(&mut self) {
        let Some(rest) = &mut self.rest else { return };
        let chunk = std::mem::replace(&mut self.chunk, CHUNK);
        let wanted = rest.limit.map_or(chunk, |limit| limit.min(chunk));
        let mut last = None;
        let mut taken = 0;
        let walk = rest.snapshot.range(&rest.prefix, rest.after.as_ref().map(Key::as_str));
        for (key, entry) in walk.take(wanted) {
            taken += 1;
            self.ready.extend(served(&rest.catalog, &rest.at, entry));
            last = (taken == wanted).then_some(key);
        }
        let limit = rest.limit.map(|limit| limit - taken);
        match last.cloned().filter(|_| limit != Some(0)) {
            Some(last) => (rest.after, rest.limit) = (Some(last), limit),
            None => self.rest = None,
        }
    }
}

impl Iterator for Items {
    type Item = Served;

    fn next(&mut self) -> Option<Served> {
        // What cannot be read is left out, so that one look may find nothing although more follow.
        while self.ready.is_empty() && self.rest.is_some() {
            self.refill();
        }
        self.ready.pop_front()
    }
}

/// Objects of a converted kind that can't be read are left out: a list must not fail for one of them.
pub(super) fn served(catalog: &Catalog, at: &At, entry: &Entry) -> Option<Served> {
    if at.kind.rules.is_some() {
        return custom::show(catalog, &at.kind, entry, entry.modified()).ok()?.map(Served::Made);
    }
    if !convert::is_needed(&at.kind) {
        return Some(Served::Stored(entry.clone()));
    }
    let object = convert::to_served(&at.kind, parse(entry).ok()?);
    Some(Served::Made(encode::encode(&object).with_revision(entry.modified().get())))
}
