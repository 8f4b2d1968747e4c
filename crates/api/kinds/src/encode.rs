//! Writes objects in upstream's protobuf, straight from the JSON they are stored in: no tree of values between. The counterpart of
//! `decode::protobuf`; what has no number is left out. The bytes are those that upstream's own encoder makes.

mod back;
mod emit;
mod like;
mod plan;
mod tape;

use bytes::BytesMut;
use serde_json::Value;

use self::back::Back;
use self::emit::Emit;
use self::like::Like;
use self::tape::Tape;
use crate::builtin::builtin;
use crate::decode::protobuf::MAGIC;
use crate::schema::{Schemas, TypeId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("no JSON at byte {0}")]
    Json(usize),
    #[error("a text cannot be read as what the schema says it is")]
    Text,
    #[error("nested too deeply")]
    Depth,
}

/// What an answer is: the message that it is written as, and the names that its envelope bears.
#[derive(Debug, Clone)]
pub struct Form {
    message: TypeId,
    /// The field of the envelope that says which kind it holds.
    names: Vec<u8>,
}

impl Form {
    /// `None` for what has no protobuf: custom kinds, and tables.
    pub fn of(group: &str, version: &str, kind: &str) -> Option<Self> {
        let node = builtin().schema_of(group, version, kind)?;
        let message = node.object().and_then(|object| builtin().schemas.named(&object.name))?;
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        Some(Self::named(message, &api_version, kind))
    }

    /// The same by an object's own `apiVersion`.
    pub fn by_names(api_version: &str, kind: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::of(group, version, kind)
    }

    /// The same message under other names: `PartialObjectMetadata` has two versions, of which one is described.
    #[must_use]
    pub fn under(&self, api_version: &str, kind: &str) -> Self {
        Self::named(self.message, api_version, kind)
    }

    fn named(message: TypeId, api_version: &str, kind: &str) -> Self {
        let mut names = Back::default();
        let end = names.position();
        names.bytes(2, kind.as_bytes());
        names.bytes(1, api_version.as_bytes());
        names.close(1, end);
        Self { message, names: names.written().to_vec() }
    }
}

/// Encodes one object after the other in the same memory.
#[derive(Debug, Default)]
pub struct Encoder {
    tape: Tape,
    out: Back,
    slots: Vec<u32>,
    stack: Vec<u32>,
    /// Of items only: the one to which the next is likened, and the one that is being written.
    like: Option<Like>,
    notes: Like,
}

impl Encoder {
    /// A whole object with its envelope.
    pub fn object(&mut self, form: &Form, json: &[u8]) -> Result<&[u8], EncodeError> {
        self.out.clear();
        self.out.bytes(4, b"");
        self.out.bytes(3, b"");
        let end = self.out.position();
        self.write(form, json, false)?;
        self.out.close(2, end);
        self.out.push(&form.names);
        self.out.push(MAGIC);
        Ok(self.out.written())
    }

    /// The message alone, as it stands in a list or in another message.
    pub fn message(&mut self, form: &Form, json: &[u8]) -> Result<&[u8], EncodeError> {
        self.out.clear();
        self.write(form, json, false)?;
        Ok(self.out.written())
    }

    /// The message alone, of an object that has much in common with those before it. Every call must be for the same form.
    pub fn item(&mut self, form: &Form, json: &[u8]) -> Result<&[u8], EncodeError> {
        self.out.clear();
        self.notes.begin(plan::plans().last().map_or(0, |last| last.first + last.fields));
        let same = self.write(form, json, true)?;
        if self.like.is_some() && same * 2 >= json.len() {
            return Ok(self.out.written());
        }
        // The next ones will rather be like this one.
        self.notes.keep(json, &mut self.out);
        let kept = self.like.get_or_insert_default();
        std::mem::swap(kept, &mut self.notes);
        Ok(kept.out().written())
    }

    /// How much memory it keeps for the next object.
    pub fn held(&self) -> usize {
        self.tape.held()
            + self.out.capacity()
            + (self.slots.capacity() + self.stack.capacity()) * size_of::<u32>()
    }

    /// Tells how many bytes of the JSON were the same as in the object before.
    fn write(&mut self, form: &Form, json: &[u8], alike: bool) -> Result<usize, EncodeError> {
        let schemas: &Schemas = &builtin().schemas;
        let plans = plan::plans();
        let like = self.like.as_ref().filter(|_| alike);
        self.tape.read(plans, schemas, like, form.message, json)?;
        let mut emit = Emit {
            plans,
            schemas,
            json,
            nodes: self.tape.nodes(),
            out: &mut self.out,
            slots: &mut self.slots,
            stack: &mut self.stack,
            like,
            notes: alike.then_some(&mut self.notes),
            same: 0,
        };
        emit.root(form.message)?;
        Ok(emit.same)
    }
}

/// A whole object with its envelope, from a value that was made for one answer.
pub fn protobuf(form: &Form, value: &Value) -> Result<Vec<u8>, EncodeError> {
    Encoder::default().object(form, value.to_string().as_bytes()).map(<[u8]>::to_vec)
}

/// A list whose items are sent one after the other: everything before them. `length` is that of all items with their heads.
pub fn list_head(form: &Form, metadata: &[u8], length: u64) -> Vec<u8> {
    let mut head = Back::default();
    head.bytes(1, metadata);
    let own = head.written().len() as u64;
    head.varint(own + length);
    head.key(2, 2);
    head.push(&form.names);
    head.push(MAGIC);
    head.written().to_vec()
}

/// What stands before an item of that length in a list.
pub fn item_head(length: usize, out: &mut Vec<u8>) {
    out.push(2 << 3 | 2);
    let mut rest = length as u64;
    while rest >= 0x80 {
        // The low seven bits, and the sign that more follow.
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// What follows the items of a list.
pub const LIST_TAIL: &[u8] = &[3 << 3 | 2, 0, 4 << 3 | 2, 0];

/// An event of a watch around an object that has its envelope already, with the length that precedes it in a stream.
pub fn watch_frame(kind: &str, object: &[u8], out: &mut BytesMut) {
    let mut head = Back::default();
    // The object stands behind everything else, so its bytes need not pass through here.
    head.varint(object.len() as u64);
    head.key(1, 2);
    let raw = head.written().len() + object.len();
    head.varint(raw as u64);
    head.key(2, 2);
    head.bytes(1, kind.as_bytes());
    let length = head.written().len() + object.len();
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(head.written());
    out.extend_from_slice(object);
}

#[cfg(test)]
mod tests;
