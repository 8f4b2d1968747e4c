//! Events that many watches send: encoded once for all of them, as long as they are near each other in time. Holds a few of the
//! latest and nothing for those who never ask.

use std::borrow::Borrow;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwapOption;
use bytes::{Buf, Bytes, BytesMut};
use kedge_kinds::encode::{self, Form};
use parking_lot::Mutex;

use super::ProtobufError;
use crate::media::Rendering;

const SLOTS: usize = 512;
/// What is larger is encoded for each: holding it would cost more than it saves.
const LARGEST: usize = 32 * 1024;

/// One encoding, and what it is of. As long as the bytes are held here, nothing else can have their address.
struct Held {
    json: Bytes,
    rendering: Rendering,
    encoded: Event,
}

/// An object with its envelope, and what a watch sends if that has happened to it.
#[derive(Clone)]
struct Event {
    what: &'static str,
    frame: Bytes,
    object_at: usize,
}

impl Event {
    fn new(what: &'static str, object: &[u8]) -> Self {
        let mut frame = BytesMut::new();
        encode::watch_frame(what, object, &mut frame);
        Self { what, object_at: frame.len() - object.len(), frame: frame.freeze() }
    }

    fn object(self) -> Bytes {
        let mut object = self.frame;
        object.advance(self.object_at);
        object
    }

    fn frame(self, what: &'static str) -> Bytes {
        if self.what == what { self.frame } else { Event::new(what, &self.object()).frame }
    }
}

impl Held {
    fn is_of(&self, json: &Bytes, rendering: Rendering) -> bool {
        self.json.as_ptr() == json.as_ptr() && self.json.len() == json.len() && self.rendering == rendering
    }
}

#[derive(Default)]
struct Slot {
    held: ArcSwapOption<Held>,
    /// Those who want what is being encoded wait here for it; what is there is had without waiting for anybody.
    encoding: Mutex<()>,
}

impl Slot {
    fn find(&self, json: &Bytes, rendering: Rendering) -> Option<Event> {
        let held = self.held.load();
        held.as_ref().filter(|held| held.is_of(json, rendering)).map(|held| held.encoded.clone())
    }
}

/// For every server in this process: a slot answers only for the very bytes that it holds.
static SLOTS_BY_ADDRESS: LazyLock<Vec<Slot>> =
    LazyLock::new(|| std::iter::repeat_with(Slot::default).take(SLOTS).collect());

/// A stored object with its envelope. Its form is asked for only if nobody has encoded it lately.
pub(super) fn object<F: Borrow<Form>>(
    json: &Bytes,
    form: impl FnOnce() -> Result<F, ProtobufError>,
) -> Result<Bytes, ProtobufError> {
    // What is written or read is likely to be sent to watches, too.
    Ok(event("ADDED", json, Rendering::Whole, form)?.object())
}

/// What a watch sends if that has happened to the object.
pub(crate) fn frame<F: Borrow<Form>>(
    what: &'static str,
    json: &Bytes,
    rendering: Rendering,
    form: impl FnOnce() -> Result<F, ProtobufError>,
) -> Result<Bytes, ProtobufError> {
    Ok(event(what, json, rendering, form)?.frame(what))
}

/// What has happened may be another thing: the object is the same.
fn event<F: Borrow<Form>>(
    what: &'static str,
    json: &Bytes,
    rendering: Rendering,
    form: impl FnOnce() -> Result<F, ProtobufError>,
) -> Result<Event, ProtobufError> {
    let encode =
        || super::with_encoder(|encoder| Ok(Event::new(what, encoder.object(form()?.borrow(), json)?)));
    // Neighbours in memory are far from each other here.
    let mixed = (json.as_ptr().addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let slot = SLOTS_BY_ADDRESS.get(mixed as usize % SLOTS);
    let Some(slot) = slot.filter(|_| json.len() <= LARGEST) else { return encode() };
    if let Some(encoded) = slot.find(json, rendering) {
        return Ok(encoded);
    }
    let _encoding = slot.encoding.lock();
    if let Some(encoded) = slot.find(json, rendering) {
        return Ok(encoded);
    }
    let encoded = encode()?;
    slot.held.store(Some(Arc::new(Held { json: json.clone(), rendering, encoded: encoded.clone() })));
    Ok(encoded)
}
