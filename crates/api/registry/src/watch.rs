//! `watch`: what is there, if asked for, then every change, as it looks through the selection.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use kedge_kinds::Status;
use kedge_kinds::field::{Errors, Path};
use kedge_store::{Change, Entry, Event, Key, Revision, Snapshot, StoreError, Watch};

use crate::encode::encode;
use crate::list::invalid_options;
use crate::registry::{Registry, parse, parse_bytes};
use crate::request::{At, VersionMatch, WatchQuery};
use crate::selection::Selection;
use crate::{convert, custom, failure, key};

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
        while let Some(told) = self.next_initial() {
            let is_end = told.entry.is_none();
            let event = self.put(told).await?;
            if is_end || self.selection.takes_form(&event.bytes) {
                return Ok(event);
            }
        }
        loop {
            let seen = self.events.seen();
            let event = self.events.next().await.map_err(|end| failure::watch_end(end, seen))?;
            let (before, now) = self.takes(&event);
            let (before, now) = match self.selection.is_by_form() {
                true => (
                    before && self.is_in_form(&event, true).await?,
                    now && self.is_in_form(&event, false).await?,
                ),
                false => (before, now),
            };
            if let Some(told) = self.tell(&event, before, now) {
                return self.put(told).await;
            }
        }
    }

    /// Whether the object is in the selection in the form in which it is served: as it was before a change, or as it is now.
    async fn is_in_form(&self, event: &Event, before: bool) -> Result<bool, Status> {
        let entry = match &event.change {
            Change::Put { before: was, .. } if before => was.as_ref(),
            Change::Put { now, .. } => Some(now),
            Change::Delete { before: was, .. } => Some(was).filter(|_| before),
        };
        let Some(entry) = entry else { return Ok(false) };
        let served = self.registry.served_all(&self.at, &[(entry.clone(), entry.modified())]).await?;
        Ok(served.first().is_some_and(|bytes| self.selection.takes_form(bytes)))
    }

    /// Whether an object was in the selection before a change, and whether it is now.
    fn takes(&self, event: &Event) -> (bool, bool) {
        let takes = |entry: &Entry| self.selection.takes(event.key.as_str(), entry);
        match &event.change {
            Change::Put { now, before } => (before.as_ref().is_some_and(takes), takes(now)),
            Change::Delete { before, .. } => (takes(before), false),
        }
    }

    /// The next thing to tell if it is there already, so that many go out in one piece.
    pub fn try_next(&mut self) -> Result<Option<WatchEvent>, Status> {
        // What a webhook converts is never there already.
        if custom::is_remote(&self.at.kind) {
            return Ok(None);
        }
        if let Some(told) = self.next_initial() {
            return self.put_now(&told).map(Some);
        }
        while let Some(event) = self.events.try_next() {
            let event = event.map_err(|end| failure::watch_end(end, self.events.seen()))?;
            let (before, now) = self.takes(&event);
            if let Some(told) = self.tell(&event, before, now) {
                return self.put_now(&told).map(Some);
            }
        }
        Ok(None)
    }

    /// What is told, in the form of the watcher's version.
    async fn put(&self, told: Told) -> Result<WatchEvent, Status> {
        let Some(entry) = told.entry.as_ref().filter(|_| custom::is_remote(&self.at.kind)) else {
            return self.put_now(&told);
        };
        let shown = self.registry.served_all(&self.at, &[(entry.clone(), told.written)]).await?;
        let bytes = shown.into_iter().next().unwrap_or_default();
        let bytes = if told.left { at_revision(&bytes, told.revision)? } else { bytes };
        Ok(WatchEvent { kind: told.kind, bytes, revision: told.revision })
    }

    fn put_now(&self, told: &Told) -> Result<WatchEvent, Status> {
        let at = &self.at;
        let bytes = match &told.entry {
            None => Bytes::new(),
            Some(entry) if at.kind.rules.is_some() => {
                let shown = custom::show(&self.registry.catalog(), &at.kind, entry, told.written)?;
                let bytes = shown.ok_or_else(|| Status::internal("a webhook was not asked"))?;
                if told.left { at_revision(&bytes, told.revision)? } else { bytes }
            }
            Some(entry) if told.left => {
                encode(&convert::to_served(&at.kind, parse(entry)?)).with_revision(told.revision.get())
            }
            Some(entry) if convert::is_needed(&at.kind) => {
                encode(&convert::to_served(&at.kind, parse(entry)?)).with_revision(entry.modified().get())
            }
            Some(entry) => entry.bytes().clone(),
        };
        Ok(WatchEvent { kind: told.kind, bytes, revision: told.revision })
    }

    /// Everything up to here was told or doesn't concern this watch: what a bookmark may say.
    pub fn seen(&self) -> Revision {
        match &self.initial {
            Some(_) => Revision::ZERO,
            // Who watches from a revision that is still to come has, as far as it goes, seen everything before it.
            None => self.events.seen().max(self.after),
        }
    }

    fn next_initial(&mut self) -> Option<Told> {
        let initial = self.initial.as_mut()?;
        if initial.ready.is_empty() {
            initial.refill(&self.selection);
        }
        if let Some(entry) = initial.ready.pop_front() {
            let revision = entry.modified();
            return Some(Told {
                kind: WatchKind::Added,
                entry: Some(entry),
                written: revision,
                revision,
                left: false,
            });
        }
        let (revision, mark_end) = (initial.snapshot.revision(), initial.mark_end);
        self.initial = None;
        let kind = WatchKind::InitialEventsEnd(revision);
        mark_end.then_some(Told { kind, entry: None, written: revision, revision, left: false })
    }

    /// How a change looks through the selection: an object may come into it or leave it.
    fn tell(&self, event: &Event, was_in: bool, is_in: bool) -> Option<Told> {
        if event.revision <= self.after {
            return None;
        }
        let (kind, entry, written, left) = match &event.change {
            Change::Put { now, before } => match (is_in, before.as_ref().filter(|_| was_in)) {
                (true, Some(_)) => (WatchKind::Modified, now, now.modified(), false),
                (true, None) => (WatchKind::Added, now, now.modified(), false),
                // One that left the selection is shown as it was last seen in it, at the revision at which it left.
                (false, Some(before)) => (WatchKind::Deleted, before, before.modified(), true),
                (false, None) => return None,
            },
            Change::Delete { last, before } if was_in => (WatchKind::Deleted, last, before.modified(), false),
            Change::Delete { .. } => return None,
        };
        Some(Told { kind, entry: Some(entry.clone()), written, revision: event.revision, left })
    }
}

/// What is to be told, before it has the form of the watcher's version.
struct Told {
    kind: WatchKind,
    entry: Option<Entry>,
    /// When the object took its form.
    written: Revision,
    revision: Revision,
    /// It is there still, but no longer what was asked for.
    left: bool,
}

fn at_revision(bytes: &[u8], revision: Revision) -> Result<Bytes, Status> {
    Ok(encode(&parse_bytes(bytes)?).with_revision(revision.get()))
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
