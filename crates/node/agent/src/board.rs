//! What the parts of the agent have to say of the node, for its object to tell: each part writes its own field, and whoever
//! keeps the node's object is woken by every change. Knows no part.

use std::collections::BTreeMap;

use tokio::sync::watch;

/// What is short on this node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pressure {
    pub(crate) memory: bool,
    pub(crate) disk: bool,
    pub(crate) pids: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    pub(crate) pressure: Pressure,
    /// Where the node is reached, if that is no longer where it was when it began.
    pub(crate) addresses: Option<Vec<String>>,
    /// The port at which the node answers, once it does.
    pub(crate) port: Option<u16>,
    /// Annotations of the node's object.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Why the node is not ready although its runtime is, by who says so.
    pub(crate) troubles: BTreeMap<&'static str, String>,
    /// Counts how often images have come or gone.
    pub(crate) images: u64,
}

pub(crate) struct Board(watch::Sender<Notes>);

impl Default for Board {
    fn default() -> Self {
        Self(watch::Sender::new(Notes::default()))
    }
}

impl Board {
    /// Writes something, and wakes the readers if it is new.
    pub(crate) fn write(&self, change: impl FnOnce(&mut Notes)) {
        self.0.send_if_modified(|notes| {
            let before = notes.clone();
            change(notes);
            *notes != before
        });
    }

    pub(crate) fn read(&self) -> watch::Receiver<Notes> {
        self.0.subscribe()
    }
}
