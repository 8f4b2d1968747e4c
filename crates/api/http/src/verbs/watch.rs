//! `watch`: events as they happen, each the stored bytes between two fixed ones. What waits is sent together, so that a
//! burst costs one write and a lone event leaves at once.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream;
use jiff::{SignedDuration, Timestamp};
use kedge_kinds::encode::{self, Form};
use kedge_kinds::{Reason, Status};
use kedge_registry::{WatchEvent, WatchKind, Watching};
use kedge_store::Revision;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;

use crate::answer::{self, Answer};
use crate::api::Api;
use crate::body::Body;
use crate::call::Call;
use crate::media::{Format, Rendering};
use crate::metrics::Held;
use crate::table::Table;
use crate::{partial, protobuf};

/// How long a watch lasts that doesn't say how long it wants to: between this and twice this.
const SHORTEST_LIFE: u64 = 30 * 60;
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// As much as is gathered into one write.
const PIECE: usize = 64 * 1024;

const PROTOBUF_EVENTS: &str = "application/vnd.kubernetes.protobuf;stream=watch";

type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) async fn watch(api: &Arc<Api>, mut call: Call) -> Result<Answer, Status> {
    let mut query = call.query.watch()?;
    // The old form names one object in its path.
    if let Some(name) = call.at.name.take() {
        query.fields = format!("metadata.name={name}");
    }
    let life = match call.query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok()) {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => usual_life(),
    };
    let table = match call.output.rendering {
        Rendering::Table(version) => {
            let include = super::list::include_object(&call.query)?;
            Some(Table::new(&call.at.kind, include, version, api.clock().now()))
        }
        Rendering::Whole | Rendering::Metadata(_) => None,
    };
    let form = match call.output.format {
        Format::Protobuf => Some(protobuf::form_of(&call.at.kind, call.output.rendering)?),
        Format::Json | Format::Yaml => None,
    };
    let content_type = if form.is_some() { PROTOBUF_EVENTS } else { "application/json" };
    let watching = match api.registry().watch(&call.at, &query).await {
        Ok(watching) => watching,
        // Many clients look for it among the events alone, where Kubernetes tells it too.
        Err(status) if status.reason == Reason::Expired => {
            let mut out = BytesMut::new();
            write_made(form.is_some(), "ERROR", &status.to_object(), &mut out);
            return Ok(answer::of(200, content_type, Body::live(stream::iter([out.freeze()]))));
        }
        Err(status) => return Err(status),
    };
    // What a definition said when the watch began is not how its objects look once it says something else.
    let superseded =
        call.at.kind.rules.is_some().then(|| -> Timer { Box::pin(api.registry().superseded(&call.at.kind)) });
    let stream = Stream {
        watching,
        table,
        form,
        first: true,
        end: timer(api, life),
        superseded,
        bookmark: query.bookmarks.then(|| timer(api, BOOKMARK_EVERY)),
        stopping: api.stopping(),
        done: false,
        _counted: api.metrics().watching(),
        api: api.clone(),
        call,
    };
    let pieces =
        stream::unfold(stream, |mut stream| async move { stream.piece().await.map(|piece| (piece, stream)) });
    Ok(answer::of(200, content_type, Body::live(pieces)))
}

fn timer(api: &Api, after: Duration) -> Timer {
    let clock = api.clock().clone();
    // The moment is fixed now: a busy watch looks at its timers late.
    let after = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
    let then = clock.now().saturating_add(after).unwrap_or(Timestamp::MAX);
    Box::pin(async move { clock.until(then).await })
}

/// Why a watch that waited goes on.
enum Wake {
    Event(Result<WatchEvent, Status>),
    Bookmark,
    End,
}

struct Stream {
    watching: Watching,
    table: Option<Table>,
    /// The message that the objects are sent as, if they are sent in protobuf.
    form: Option<Cow<'static, Form>>,
    first: bool,
    end: Timer,
    /// For custom kinds only.
    superseded: Option<Timer>,
    bookmark: Option<Timer>,
    stopping: Receiver<bool>,
    done: bool,
    _counted: Held,
    api: Arc<Api>,
    call: Call,
}

/// By chance, so that watches that began together after a restart don't all end and begin again together.
fn usual_life() -> Duration {
    let chance = RandomState::new().build_hasher().finish();
    Duration::from_secs(SHORTEST_LIFE + chance % SHORTEST_LIFE)
}

impl Stream {
    /// Waits for something to send; `None` when the watch is over.
    async fn piece(&mut self) -> Option<Bytes> {
        if self.done {
            return None;
        }
        let mut out = Piece::default();
        match self.wake().await {
            Wake::Event(Ok(event)) => self.write(&event, &mut out),
            Wake::Event(Err(status)) => self.fail(&status, &mut out),
            Wake::Bookmark => {
                self.bookmark = Some(timer(&self.api, BOOKMARK_EVERY));
                self.write_bookmark(self.watching.seen(), false, &mut out);
            }
            Wake::End => return None,
        }
        while !self.done && out.len() < PIECE {
            match self.watching.try_next() {
                Ok(Some(event)) => self.write(&event, &mut out),
                Ok(None) => break,
                Err(status) => self.fail(&status, &mut out),
            }
        }
        Some(out.finish())
    }

    async fn wake(&mut self) -> Wake {
        async fn over(timer: &mut Option<Timer>) {
            match timer {
                Some(timer) => timer.await,
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            biased;
            // An error means that nobody can ask for a stop any more, which is one.
            _ = self.stopping.wait_for(|stopping| *stopping) => Wake::End,
            () = &mut self.end => Wake::End,
            event = self.watching.next() => Wake::Event(event),
            // Behind the events: that the last objects are gone is told before the end.
            () = over(&mut self.superseded) => Wake::End,
            () = over(&mut self.bookmark) => Wake::Bookmark,
        }
    }

    fn write(&mut self, event: &WatchEvent, out: &mut Piece) {
        if let Some(form) = &self.form {
            let name = match event.kind {
                WatchKind::Added => "ADDED",
                WatchKind::Modified => "MODIFIED",
                WatchKind::Deleted => "DELETED",
                WatchKind::InitialEventsEnd(revision) => return self.write_bookmark(revision, true, out),
            };
            return match protobuf::frame(name, &event.bytes, self.call.output.rendering, || Ok(&**form)) {
                Ok(frame) => out.share(frame),
                Err(error) => self.fail(&error.into(), out),
            };
        }
        let head: &[u8] = match event.kind {
            WatchKind::Added => br#"{"type":"ADDED","object":"#,
            WatchKind::Modified => br#"{"type":"MODIFIED","object":"#,
            WatchKind::Deleted => br#"{"type":"DELETED","object":"#,
            WatchKind::InitialEventsEnd(revision) => return self.write_bookmark(revision, true, out),
        };
        let rendered = match (self.call.output.rendering, &self.table) {
            (_, Some(table)) => table.event(&event.bytes, self.first, self.api.clock().now()),
            (Rendering::Metadata(version), None) => partial::object(&event.bytes, version),
            (Rendering::Whole | Rendering::Table(_), None) => Ok(event.bytes.clone()),
        };
        match rendered {
            Ok(bytes) => {
                self.first = false;
                let out = out.own();
                out.reserve(head.len() + bytes.len() + 2);
                out.extend_from_slice(head);
                out.extend_from_slice(&bytes);
                out.extend_from_slice(b"}\n");
            }
            Err(error) => self.fail(&super::unreadable(error), out),
        }
    }

    fn write_bookmark(&mut self, revision: Revision, initial_end: bool, out: &mut Piece) {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if initial_end {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let kind = &self.call.at.kind;
        let object = match self.call.output.rendering {
            Rendering::Whole => {
                json!({ "kind": *kind.kind, "apiVersion": kind.gv.to_string(), "metadata": metadata })
            }
            Rendering::Metadata(version) => {
                json!({ "kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata })
            }
            Rendering::Table(version) => json!({
                "kind": "Table", "apiVersion": version.api_version(),
                "metadata": { "resourceVersion": revision.to_string() }, "columnDefinitions": [],
                "rows": [{ "cells": [], "object": {
                    "kind": "PartialObjectMetadata", "apiVersion": version.api_version(), "metadata": metadata,
                }}],
            }),
        };
        self.write_made("BOOKMARK", &object, out);
    }

    /// Once the stream has begun, a failure is its last event.
    fn fail(&mut self, status: &Status, out: &mut Piece) {
        self.write_made("ERROR", &status.to_object(), out);
        self.done = true;
    }

    fn write_made(&self, name: &str, object: &Value, out: &mut Piece) {
        write_made(self.form.is_some(), name, object, out.own());
    }
}

/// What a watch sends at a time. One event that others send as well is sent as it is; several are copied together.
#[derive(Default)]
struct Piece {
    shared: Bytes,
    own: BytesMut,
}

impl Piece {
    fn len(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    /// Appends what others have, too.
    fn share(&mut self, bytes: Bytes) {
        if self.len() == 0 {
            self.shared = bytes;
        } else {
            self.own().extend_from_slice(&bytes);
        }
    }

    /// The place for what nobody else has.
    fn own(&mut self) -> &mut BytesMut {
        if !self.shared.is_empty() {
            self.own.extend_from_slice(&std::mem::take(&mut self.shared));
        }
        &mut self.own
    }

    fn finish(self) -> Bytes {
        if self.own.is_empty() { self.shared } else { self.own.freeze() }
    }
}

/// An event about something that is not stored.
fn write_made(in_protobuf: bool, name: &str, object: &Value, out: &mut BytesMut) {
    if in_protobuf && let Ok(object) = protobuf::document(object) {
        return encode::watch_frame(name, &object, out);
    }
    out.extend_from_slice(json!({ "type": name, "object": object }).to_string().as_bytes());
    out.extend_from_slice(b"\n");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn lives_differ_within_bounds() {
        let lives: HashSet<Duration> = (0..50).map(|_| usual_life()).collect();
        assert!(lives.len() > 10, "{lives:?}");
        assert!(lives.iter().all(|life| (1800..3600).contains(&life.as_secs())), "{lives:?}");
    }
}
