//! Events that many watches send: encoded once for all of them, as long as they are near each other in time. Holds a few of the
//! latest and nothing for those who never ask.

use std::borrow::Borrow;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use kedge_kinds::encode::Form;
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
    encoded: Bytes,
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
    fn find(&self, json: &Bytes, rendering: Rendering) -> Option<Bytes> {
        let held = self.held.load();
        held.as_ref().filter(|held| held.is_of(json, rendering)).map(|held| held.encoded.clone())
    }
}

/// For every server in this process: a slot answers only for the very bytes that it holds.
static SLOTS_BY_ADDRESS: LazyLock<Vec<Slot>> =
    LazyLock::new(|| std::iter::repeat_with(Slot::default).take(SLOTS).collect());

/// A stored object with its envelope. Its form is asked for only if nobody has encoded it lately.
pub(crate) fn event<F: Borrow<Form>>(
    json: &Bytes,
    rendering: Rendering,
    form: impl FnOnce() -> Result<F, ProtobufError>,
) -> Result<Bytes, ProtobufError> {
    let encode = || super::object(form()?.borrow(), json);
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
