//! Long lists in protobuf. Their length stands before them, so they are encoded before the first byte leaves; what does not fit into
//! a few megabytes is only measured then, and encoded on its way. Other requests have their turn in between.

use bytes::Bytes;
use kedge_kinds::encode::{self, Delta, Encoder, Form, LIST_TAIL, Templates};
use kedge_kinds::{Kind, Status};
use kedge_registry::{Items, Served};

use super::lengths::Lengths;
use super::{ProtobufError, Which, form, form_of};
use crate::body::Body;
use crate::media::Rendering;
use crate::partial::ListMeta;

/// A chunk is handed on once it holds this much.
const CHUNK: usize = 32 * 1024;
/// How much of a list is held until its length is known.
const HELD: usize = 4 * 1024 * 1024;
/// After as many items that are only measured others have their turn.
const TURN: usize = 64;

/// What is remembered from one list to the next.
#[derive(Default)]
pub(crate) struct Lists {
    lengths: Lengths,
    templates: Templates,
}

pub(crate) async fn list(
    kind: &Kind,
    rendering: Rendering,
    mut items: Items,
    meta: &ListMeta,
    lists: &Lists,
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
    let encoder = lists.templates.encoder(&item);
    let mut objects = Objects { item, encoder, remembers: rendering == Rendering::Whole };
    if let Some(length) = which.as_ref().and_then(|which| lists.lengths.find(which)) {
        let head = Bytes::from(encode::list_head(&list, &metadata, length));
        return Ok(Body::chunks(std::iter::once(head).chain(Again { items, objects }).chain(tail)));
    }
    let (mut held, mut length) = (Vec::new(), 0);
    while length < HELD {
        let chunk = objects.chunk(&mut items)?;
        if chunk.is_empty() {
            break;
        }
        length += chunk.len();
        held.push(Bytes::from(chunk));
        tokio::task::yield_now().await;
    }
    let (rest, mut length) = (items.clone(), length as u64);
    for (seen, object) in (1usize..).zip(items) {
        length += objects.length(&object)? as u64;
        if seen.is_multiple_of(TURN) {
            tokio::task::yield_now().await;
        }
    }
    // A short list is measured as fast as its length is found.
    if let Some(which) = which.filter(|_| length > HELD as u64) {
        lists.lengths.keep(which, length);
    }
    lists.templates.keep(&objects.encoder);
    let head = Bytes::from(encode::list_head(&list, &metadata, length));
    let again = Again { items: rest, objects };
    Ok(Body::chunks(std::iter::once(head).chain(held).chain(again).chain(tail)))
}

fn metadata(meta: &ListMeta) -> Result<Vec<u8>, ProtobufError> {
    let mut json = Vec::new();
    crate::partial::write_meta(meta, &mut json);
    let form = form("meta.k8s.io/v1", "ListMeta")?;
    Ok(Encoder::default().message(&form, &json)?.to_vec())
}

/// Encodes the objects of one list.
struct Objects {
    item: Form,
    encoder: Encoder,
    /// Whether what is found out about an object stays with it for the next list.
    remembers: bool,
}

impl Objects {
    /// The next few, or nothing at the end.
    fn chunk(&mut self, items: &mut Items) -> Result<Vec<u8>, ProtobufError> {
        let mut out = Vec::new();
        while out.len() < CHUNK {
            let Some(object) = items.next() else { break };
            if out.capacity() == 0 {
                out.reserve(CHUNK + CHUNK / 4);
            }
            match self.known(&object) {
                Some(delta) => delta.item(&mut out),
                None => {
                    self.encoder.item(&self.item, object.as_ref(), &mut out)?;
                    self.remember(&object);
                }
            }
        }
        Ok(out)
    }

    /// How long one is going to be.
    fn length(&mut self, object: &Served) -> Result<usize, ProtobufError> {
        if let Some(delta) = self.known(object) {
            return Ok(delta.item_length());
        }
        let length = self.encoder.item_length(&self.item, object.as_ref())?;
        self.remember(object);
        Ok(length)
    }

    /// What an earlier list has left with the object.
    fn known<'o>(&self, object: &'o Served) -> Option<&'o Delta> {
        match object {
            Served::Stored(entry) => entry.recall().filter(|delta: &&Delta| delta.is_of(&self.item)),
            Served::Made(_) => None,
        }
    }

    /// Leaves with an object what it is encoded from the next time.
    fn remember(&self, object: &Served) {
        if let Served::Stored(entry) = object
            && self.remembers
            && let Some(delta) = self.encoder.delta()
        {
            entry.remember(delta);
        }
    }
}

/// What was measured before and is now sent.
struct Again {
    items: Items,
    objects: Objects,
}

impl Iterator for Again {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        // What could be encoded once can be encoded again; if not, the client notices that bytes are missing.
        let chunk = self.objects.chunk(&mut self.items).ok()?;
        (!chunk.is_empty()).then(|| Bytes::from(chunk))
    }
}
