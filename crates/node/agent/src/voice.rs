//! Events, told by and by: nobody who has something to do waits for the API to take one. They are told in their order; when
//! there are far too many, the newest are lost.

use kedge_engine::{Note, Recorder};
use tokio::sync::mpsc;

const ROOM: usize = 2048;

pub(crate) struct Voice {
    notes: mpsc::Sender<Note>,
}

impl Voice {
    /// Speaks until it is dropped. Needs a running tokio runtime.
    pub(crate) fn new(recorder: Recorder) -> Self {
        let (notes, mut heard) = mpsc::channel::<Note>(ROOM);
        tokio::spawn(async move {
            while let Some(note) = heard.recv().await {
                recorder.tell(&note).await;
            }
        });
        Self { notes }
    }

    pub(crate) fn say(&self, note: Note) {
        if let Err(error) = self.notes.try_send(note) {
            tracing::debug!(%error, "an event was lost");
        }
    }
}
