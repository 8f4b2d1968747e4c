//! `watch`: what is there, if asked for, then every change, as it looks through the selection.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use kedge_kinds::Status;
use kedge_kinds::field::{Errors, Path};
use kedge_store::{Change, Entry, Event, Key, Revision, Snapshot, StoreError, Watch};

use crate::encode::encode;
use crate::list::invalid_options;
use crate::registry::{Registry, parse};
use crate::request::{At, VersionMatch, WatchQuery};
use crate::selection::Selection;
use crate::{convert, failure, key};

/// One thing that a watcher is told.
#[derive(Clone, Debug)]
pub struct WatchEvent {
    pub kind: WatchKind,
    /// The object; empty for the end of the initial events.
    pub bytes: Bytes,
    pub revision: Revision,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    Added,
    Modified,
    Deleted,
    /// Everything that was there has been told: to be sent as a bookmark with the annotation
    /// `k8s.io/initial-events-end`.
    InitialEventsEnd(Revision),
}

/// A watch under way.
pub struct Watching {
    registry: Registry,
    at: At,
    selection: Arc<Selection>,
    initial: Option<Initial>,
    events: Watch,
    /// Changes up to here are the watcher's past already.
    after: Revision,
}

/// What was there when the watch began, and how far it has been told.
struct Initial {
    snapshot: Snapshot,
    prefix: String,
    last: Option<Key>,
    ready: VecDeque<Entry>,
    mark_end: bool,
}

const CHUNK: usize = 64;

impl Registry {
    pub async fn watch(&self, at: &At, query: &WatchQuery) -> Result<Watching, Status> {
        check(query)?;
        let selection =
            Arc::new(Selection::parse(&at.kind, at.name.as_deref(), &query.labels, &query.fields)?);
        let mut prefix = key::prefix(&at.kind, at.namespace.as_deref());
        if let Some(name) = selection.only_name()
            && (at.namespace.is_some() || !at.kind.namespaced)
        {
            prefix.push_str(name);
        }
        let asked = match query.resource_version.as_str() {
            "" | "0" => None,
            text => Some(text.parse::<Revision>().map_err(|_| {
                failure::bare(format!(
                    "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))
            })?),
        };
        let initial = query.send_initial_events.unwrap_or(asked.is_none());
        let snapshot = match query.resource_version.as_str() {
            "0" => self.inner().store.snapshot(),
            _ => self.inner().store.latest().await.map_err(failure::status)?,
        };
        if let Some(asked) = asked.filter(|asked| initial && *asked > snapshot.revision()) {
            return Err(failure::too_new(asked, snapshot.revision()));
        }
        let from = if initial { snapshot.revision() } else { asked.unwrap_or(snapshot.revision()) };
        let (events, after) = match self.inner().store.watch(&prefix, from) {
            Ok(events) => (events, from),
            // It waits for that revision and tells only what comes behind it.
            Err(StoreError::Future { asked, newest }) => {
                (self.inner().store.watch(&prefix, newest).map_err(failure::status)?, asked)
            }
            Err(error) => return Err(failure::status(error)),
        };
        let mark_end = query.send_initial_events == Some(true) && query.bookmarks;
        let initial =
            initial.then(|| Initial { snapshot, prefix, last: None, ready: VecDeque::new(), mark_end });
        Ok(Watching { registry: self.clone(), at: at.clone(), selection, initial, events, after })
    }
}

impl Watching {
    /// The next thing to tell, as soon as there is one. An error is the last thing.
    pub async fn next(&mut self) -> Result<WatchEvent, Status> {
        if let Some(event) = self.next_initial()? {
            return Ok(event);
        }
        loop {
            let seen = self.events.seen();
            let event = self.events.next().await.map_err(|end| failure::watch_end(end, seen))?;
            if let Some(told) = self.tell(&event)? {
                return Ok(told);
            }
        }
    }

    /// The next thing to tell if it is there already, so that many go out in one piece.
    pub fn try_next(&mut self) -> Result<Option<WatchEvent>, Status> {
        if let Some(event) = self.next_initial()? {
            return Ok(Some(event));
        }
        while let Some(event) = self.events.try_next() {
            let event = event.map_err(|end| failure::watch_end(end, self.events.seen()))?;
            if let Some(told) = self.tell(&event)? {
                return Ok(Some(told));
            }
        }
        Ok(None)
    }

    /// Everything up to here was told or doesn't concern this watch: what a bookmark may say.
    pub fn seen(&self) -> Revision {
        match &self.initial {
            Some(_) => Revision::ZERO,
            // Who watches from a revision that is still to come has, as far as it goes, seen everything before it.
            None => self.events.seen().max(self.after),
        }
    }

    fn next_initial(&mut self) -> Result<Option<WatchEvent>, Status> {
        let Some(initial) = &mut self.initial else { return Ok(None) };
        if initial.ready.is_empty() {
            initial.refill(&self.selection);
        }
        if let Some(entry) = initial.ready.pop_front() {
            let bytes = self.registry.served(&self.at, &entry)?;
            return Ok(Some(WatchEvent { kind: WatchKind::Added, bytes, revision: entry.modified() }));
        }
        let (revision, mark_end) = (initial.snapshot.revision(), initial.mark_end);
        self.initial = None;
        let kind = WatchKind::InitialEventsEnd(revision);
        Ok(mark_end.then(|| WatchEvent { kind, bytes: Bytes::new(), revision }))
    }

    /// How a change looks through the selection: an object may come into it or leave it.
    fn tell(&self, event: &Event) -> Result<Option<WatchEvent>, Status> {
        if event.revision <= self.after {
            return Ok(None);
        }
        let takes = |entry: &Entry| self.selection.takes(event.key.as_str(), entry);
        let (kind, entry) = match &event.change {
            Change::Put { now, before } => match (takes(now), before.as_ref().is_some_and(takes)) {
                (true, true) => (WatchKind::Modified, now),
                (true, false) => (WatchKind::Added, now),
                (false, true) => return self.left(event, before.as_ref()).map(Some),
                (false, false) => return Ok(None),
            },
            Change::Delete { last, before } if takes(before) => (WatchKind::Deleted, last),
            Change::Delete { .. } => return Ok(None),
        };
        Ok(Some(WatchEvent { kind, bytes: self.registry.served(&self.at, entry)?, revision: event.revision }))
    }
}

impl Watching {
    /// An object that left the selection is shown as it was last seen in it, at the revision at which it left.
    fn left(&self, event: &Event, before: Option<&Entry>) -> Result<WatchEvent, Status> {
        let object = parse(before.unwrap_or(event.change.entry()))?;
        let bytes = encode(&convert::to_served(&self.at.kind, object)).with_revision(event.revision.get());
        Ok(WatchEvent { kind: WatchKind::Deleted, bytes, revision: event.revision })
    }
}

impl Initial {
    fn refill(&mut self, selection: &Selection) {
        let last = self.last.take();
        for (key, entry) in self.snapshot.range(&self.prefix, last.as_ref().map(Key::as_str)) {
            self.last = Some(key.clone());
            if selection.takes(key.as_str(), entry) {
                self.ready.push_back(entry.clone());
                if self.ready.len() >= CHUNK {
                    return;
                }
            }
        }
    }
}

/// Which of the parameters exclude each other.
fn check(query: &WatchQuery) -> Result<(), Status> {
    let path = Path::root("resourceVersionMatch");
    let mut errors = Errors::default();
    match (query.send_initial_events, query.version_match) {
        (Some(_), Some(VersionMatch::NotOlderThan)) | (None, None) => {}
        (Some(_), None) => {
            errors
                .forbidden(&path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        (Some(_), Some(VersionMatch::Exact)) => {
            errors
                .forbidden(&path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
            errors.not_supported(&path, &"Exact".into(), &["NotOlderThan"]);
        }
        (None, Some(asked)) => {
            errors.forbidden(
                &path,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
            if asked == VersionMatch::Exact {
                errors.not_supported(&path, &"Exact".into(), &["NotOlderThan"]);
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(invalid_options(errors)) }
}

#[cfg(test)]
mod tests;
