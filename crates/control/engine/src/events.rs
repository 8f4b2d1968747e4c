//! Events: what a controller wants people to read. Repeats are counted in one object instead of piling up, and a controller
//! that has too much to say about one object is cut short. Whether an event could be stored never matters to a turn.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::{SignedDuration, Timestamp};
use kedge_clock::Clock;
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::action::{Resource, Target};
use crate::carry;

/// How much may be said about one object at once, and after what time there is room for one more.
const BURST: u32 = 25;
const REFILL: SignedDuration = SignedDuration::from_mins(5);
/// A repeat within this time is counted, a later one is told anew.
const MEMORY: SignedDuration = SignedDuration::from_mins(10);
/// How many different things are remembered; beyond it the oldest are forgotten.
const REMEMBERED: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    Normal,
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub about: Target,
    /// Which part of the object, `spec.containers{web}`; empty for the whole of it.
    pub part: String,
    pub severity: Severity,
    pub reason: &'static str,
    pub message: String,
}

/// One controller's voice.
pub struct Recorder {
    component: &'static str,
    /// The node that speaks; empty where it doesn't matter.
    host: String,
    client: Client,
    clock: Clock,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    told: HashMap<u64, Told>,
    room: HashMap<String, Room>,
}

#[derive(Clone, Debug)]
struct Told {
    name: String,
    count: u32,
    last: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Room {
    left: u32,
    since: Timestamp,
}

/// What becomes of a note.
#[derive(Debug, PartialEq)]
enum Fate {
    New(String),
    Again { name: String, count: u32 },
    TooMuch,
}

impl Recorder {
    pub fn new(component: &'static str, client: Client, clock: Clock) -> Self {
        Self { component, host: String::new(), client, clock, memory: Mutex::default() }
    }

    /// Speaks for a node from now on.
    #[must_use]
    pub fn on(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    pub(crate) fn component(&self) -> &'static str {
        self.component
    }

    pub async fn tell(&self, note: &Note) {
        let now = self.clock.now();
        let fate = self.memory.lock().fate(note, now);
        // Events about objects of no namespace lie in `default`.
        let namespace = match &*note.about.key.namespace {
            "" => "default",
            namespace => namespace,
        };
        let events = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Event".to_owned(),
            plural: "events".to_owned(),
        };
        let sent = match fate {
            Fate::TooMuch => return,
            Fate::New(name) => {
                let event = self.event(note, namespace, &name, now);
                carry::send(&self.client, self.component, "POST", &events.path(namespace, None), &event).await
            }
            Fate::Again { name, count } => {
                let patch = json!({"count": count, "lastTimestamp": seconds(now)});
                carry::send(
                    &self.client,
                    self.component,
                    "PATCH",
                    &events.path(namespace, Some(&name)),
                    &patch,
                )
                .await
            }
        };
        if let Err(error) = sent {
            tracing::debug!(component = self.component, reason = note.reason, %error, "an event was lost");
        }
    }

    fn event(&self, note: &Note, namespace: &str, name: &str, now: Timestamp) -> Value {
        let Target { resource, key, uid, revision } = &note.about;
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": resource.api_version(),
                "kind": resource.kind,
                "namespace": key.namespace,
                "name": key.name,
                "uid": uid,
                "resourceVersion": revision,
                "fieldPath": said(&note.part),
            },
            "type": note.severity.to_string(),
            "reason": note.reason,
            "message": note.message,
            "source": {"component": self.component, "host": said(&self.host)},
            "reportingComponent": self.component,
            "reportingInstance": self.host,
            "firstTimestamp": seconds(now),
            "lastTimestamp": seconds(now),
            "count": 1,
        })
    }
}

/// Nothing in the place of an empty text.
fn said(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn seconds(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Memory {
    fn fate(&mut self, note: &Note, now: Timestamp) -> Fate {
        if !self.has_room(&note.about.uid, now) {
            return Fate::TooMuch;
        }
        let mut hasher = DefaultHasher::new();
        (&note.about.uid, &note.part, note.severity, note.reason, &note.message).hash(&mut hasher);
        let what = hasher.finish();
        if let Some(told) = self.told.get_mut(&what).filter(|told| now.duration_since(told.last) < MEMORY) {
            told.count += 1;
            told.last = now;
            return Fate::Again { name: told.name.clone(), count: told.count };
        }
        if self.told.len() >= REMEMBERED {
            self.told.retain(|_, told| now.duration_since(told.last) < MEMORY);
            self.room.retain(|_, room| now.duration_since(room.since) < REFILL * BURST.cast_signed());
        }
        if self.told.len() >= REMEMBERED {
            self.told.clear();
        }
        // Two notes about one object in one instant have different names, and a note told anew has another than before.
        let name = format!("{}.{:x}{:08x}", note.about.key.name, now.as_microsecond(), what >> 32);
        self.told.insert(what, Told { name: name.clone(), count: 1, last: now });
        Fate::New(name)
    }

    fn has_room(&mut self, uid: &str, now: Timestamp) -> bool {
        let room = self.room.entry(uid.to_owned()).or_insert(Room { left: BURST, since: now });
        while room.left < BURST && now.duration_since(room.since) >= REFILL {
            room.left += 1;
            room.since = room.since.saturating_add(REFILL).unwrap_or(now);
        }
        if room.left == BURST {
            room.since = now;
        }
        let has = room.left > 0;
        room.left = room.left.saturating_sub(1);
        has
    }
}

#[cfg(test)]
mod tests;
