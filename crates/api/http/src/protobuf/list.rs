//! Long lists in protobuf. Their length stands before them, so they are encoded before the first byte leaves; what does not fit into
//! a few megabytes is only measured then, and encoded on its way. Other requests have their turn in between.

use bytes::Bytes;
use kedge_kinds::encode::{self, Encoder, Form, LIST_TAIL};
use kedge_kinds::{Kind, Status};
use kedge_registry::Items;

use super::{Lengths, ProtobufError, Which, form, form_of};
use crate::body::Body;
use crate::media::Rendering;
use crate::partial::ListMeta;

/// A chunk is handed on once it holds this much.
const CHUNK: usize = 32 * 1024;
/// How much of a list is held until its length is known.
const HELD: usize = 4 * 1024 * 1024;
/// After as many items that are only measured others have their turn.
const TURN: usize = 64;

pub(crate) async fn list(
    kind: &Kind,
    rendering: Rendering,
    mut items: Items,
    meta: &ListMeta,
    lengths: &Lengths,
    which: Option<Which>,
) -> Result<Body, Status> {
    let item = form_of(kind, rendering)?.into_owned();
    // Only the names of the list matter: its message is the same for every kind.
    let list = match rendering {
        Rendering::Metadata(version) => item.under(version.api_version(), "PartialObjectMetadataList"),
        Rendering::Whole | Rendering::Table(_) => item.under(&kind.gv.to_string(), &kind.list_kind),
    };
    let metadata = metadata(meta)?;
    let tail = std::iter::once(Bytes::from_static(LIST_TAIL));
    if let Some(length) = which.as_ref().and_then(|which| lengths.find(which)) {
        let head = Bytes::from(encode::list_head(&list, &metadata, length));
        let all = Again { items, item, encoder: Encoder::default() };
        return Ok(Body::chunks(std::iter::once(head).chain(all).chain(tail)));
    }
    let mut encoder = Encoder::default();
    let (mut held, mut length) = (Vec::new(), 0);
    while length < HELD {
        let chunk = chunk(&mut items, &item, &mut encoder)?;
        if chunk.is_empty() {
            break;
        }
        length += chunk.len();
        held.push(Bytes::from(chunk));
        tokio::task::yield_now().await;
    }
    let (rest, mut length) = (items.clone(), length as u64);
    for (seen, json) in (1usize..).zip(items) {
        length += encoder.item_length(&item, &json).map_err(ProtobufError::Encode)? as u64;
        if seen.is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
    }
    // A short list is measured as fast as its length is found.
    if let Some(which) = which.filter(|_| length > HELD as u64) {
        lengths.keep(which, length);
    }
    let head = Bytes::from(encode::list_head(&list, &metadata, length));
    let again = Again { items: rest, item, encoder };
    Ok(Body::chunks(std::iter::once(head).chain(held).chain(again).chain(tail)))
}

fn metadata(meta: &ListMeta) -> Result<Vec<u8>, ProtobufError> {
    let mut json = Vec::new();
    crate::partial::write_meta(meta, &mut json);
    let form = form("meta.k8s.io/v1", "ListMeta")?;
    Ok(Encoder::default().message(&form, &json)?.to_vec())
}

/// The next few items, or nothing at the end.
fn chunk(items: &mut Items, item: &Form, encoder: &mut Encoder) -> Result<Vec<u8>, ProtobufError> {
    let mut out = Vec::new();
    while out.len() < CHUNK {
        let Some(json) = items.next() else { break };
        if out.capacity() == 0 {
            out.reserve(CHUNK + CHUNK / 4);
        }
        encoder.item(item, &json, &mut out)?;
    }
    Ok(out)
}

/// What was measured before and is now sent.
struct Again {
    items: Items,
    item: Form,
    encoder: Encoder,
}

impl Iterator for Again {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        // What could be encoded once can be encoded again; if not, the client notices that bytes are missing.
        let chunk = chunk(&mut self.items, &self.item, &mut self.encoder).ok()?;
        (!chunk.is_empty()).then(|| Bytes::from(chunk))
    }
}
