//! Events that many watches send: encoded once for all of them, as long as they are near each other in time. Holds a few of the
//! latest and nothing for those who never ask.

use std::borrow::Borrow;
use std::sync::LazyLock;

use bytes::Bytes;
use kedge_kinds::encode::Form;
use parking_lot::Mutex;

use super::{ProtobufError, with_encoder};
use crate::media::Rendering;

const SLOTS: usize = 512;
/// What is larger is encoded for each: holding it would cost more than it saves.
const LARGEST: usize = 32 * 1024;

/// One encoding, and what it is of. As long as the bytes are held here, nothing else can have their address.
struct Slot {
    json: Bytes,
    rendering: Rendering,
    encoded: Bytes,
}

/// For every server in this process: a slot answers only for the very bytes that it holds.
static SLOTS_BY_ADDRESS: LazyLock<Vec<Mutex<Option<Slot>>>> =
    LazyLock::new(|| (0..SLOTS).map(|_| Mutex::default()).collect());

/// A stored object with its envelope. Its form is asked for only if nobody has encoded it lately.
pub(crate) fn event<F: Borrow<Form>>(
    json: &Bytes,
    rendering: Rendering,
    form: impl FnOnce() -> Result<F, ProtobufError>,
) -> Result<Bytes, ProtobufError> {
    let encode = || {
        let form = form()?;
        with_encoder(|encoder| Ok(Bytes::copy_from_slice(encoder.object(form.borrow(), json)?)))
    };
    // Neighbours in memory are far from each other here.
    let mixed = (json.as_ptr().addr() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let slot = SLOTS_BY_ADDRESS.get(mixed as usize % SLOTS);
    let Some(slot) = slot.filter(|_| json.len() <= LARGEST) else { return encode() };
    let mut slot = slot.lock();
    if let Some(held) = &*slot
        && held.json.as_ptr() == json.as_ptr()
        && held.json.len() == json.len()
        && held.rendering == rendering
    {
        return Ok(held.encoded.clone());
    }
    // Those who want the same wait here for it.
    let encoded = encode()?;
    *slot = Some(Slot { json: json.clone(), rendering, encoded: encoded.clone() });
    Ok(encoded)
}
