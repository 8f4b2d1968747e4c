//! Writes objects in upstream's protobuf, straight from the JSON they are stored in: no tree of values between. The counterpart of
//! `decode::protobuf`; what has no number is left out. The bytes are those that upstream's own encoder makes.

mod back;
mod emit;
mod plan;
mod tape;
mod template;
mod templates;

use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use serde_json::Value;

use self::back::{Back, put_varint, varint_length};
use self::emit::Emit;
use self::tape::Tape;
pub use self::template::Delta;
use self::template::{Exchange, Known, Notes, Template};
pub use self::templates::Templates;
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
    /// Of items only: those that others are written after, the last one that served first, and what is noted of a new one.
    templates: Vec<Known>,
    notes: Notes,
    exchange: Exchange,
    /// Whether the last item was like the first template.
    fitted: bool,
}

/// How many forms the items of a list may have in turn before one of them is parsed again.
const TEMPLATES: usize = 4;
/// What is longer is rarely like another.
const LONGEST_TEMPLATE: usize = 64 * 1024;

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

    /// Appends an item of a list with its head. One that is like another before it but for its values costs little more than a copy.
    pub fn item(&mut self, form: &Form, json: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if let Some((template, exchange)) = self.like(form, json) {
            field_head(ITEM, exchange.length(), out);
            exchange.write(template, out);
            return Ok(());
        }
        let message = self.first_of_its_form(form, json)?;
        field_head(ITEM, message.len(), out);
        out.extend_from_slice(message);
        Ok(())
    }

    /// How long that would be.
    pub fn item_length(&mut self, form: &Form, json: &[u8]) -> Result<usize, EncodeError> {
        let length = match self.like(form, json) {
            Some((_, exchange)) => exchange.length(),
            None => self.first_of_its_form(form, json)?.len(),
        };
        Ok(field_length(length))
    }

    /// The item that was encoded or measured last as what it has beside others; `None` if few are like it.
    pub fn delta(&self) -> Option<Delta> {
        let template = &self.templates.first().filter(|_| self.fitted)?.template;
        if template.is_common() { self.exchange.delta(template) } else { None }
    }

    /// The template that this object fits, and what is to be exchanged in it.
    fn like(&mut self, form: &Form, json: &[u8]) -> Option<(&Template, &Exchange)> {
        let exchange = &mut self.exchange;
        let fits = |known: &mut Known| known.template.is_of(form.message) && known.fit(json, exchange);
        let found = self.templates.iter_mut().position(fits);
        self.fitted = found.is_some();
        self.templates.swap(0, found?);
        Some((&self.templates.first()?.template, &self.exchange))
    }

    /// Encodes an object as a whole; the next ones may be like it.
    fn first_of_its_form(&mut self, form: &Form, json: &[u8]) -> Result<&[u8], EncodeError> {
        if json.len() > LONGEST_TEMPLATE {
            return self.message(form, json);
        }
        self.out.clear();
        self.notes.clear();
        self.write(form, json, true)?;
        let template = Template::new(form.message, json, self.out.written(), &self.notes);
        self.templates.truncate(TEMPLATES - 1);
        self.templates.insert(0, Known::new(Arc::new(template)));
        Ok(self.out.written())
    }

    /// How much memory it keeps for the next object.
    pub fn held(&self) -> usize {
        self.tape.held()
            + self.out.capacity()
            + (self.slots.capacity() + self.stack.capacity()) * size_of::<u32>()
            + self.templates.iter().map(Known::held).sum::<usize>()
    }

    fn write(&mut self, form: &Form, json: &[u8], note: bool) -> Result<(), EncodeError> {
        let schemas: &Schemas = &builtin().schemas;
        self.tape.read(schemas, form.message, json)?;
        let mut emit = Emit {
            plans: plan::plans(),
            schemas,
            json,
            nodes: self.tape.nodes(),
            out: &mut self.out,
            slots: &mut self.slots,
            stack: &mut self.stack,
            notes: note.then_some(&mut self.notes),
        };
        emit.root(form.message)
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

/// What stands before a field of that length, if its number is small.
fn field_head(number: u8, length: usize, out: &mut impl BufMut) {
    out.put_u8(number << 3 | 2);
    put_varint(length as u64, out);
}

/// How long a field of that length is with its head.
fn field_length(length: usize) -> usize {
    1 + varint_length(length as u64) + length
}

/// The field of a list that holds an item.
const ITEM: u8 = 2;

/// What follows the items of a list.
pub const LIST_TAIL: &[u8] = &[3 << 3 | 2, 0, 4 << 3 | 2, 0];

/// An event of a watch around an object that has its envelope already, with the length that precedes it in a stream.
pub fn watch_frame(kind: &str, object: &[u8], out: &mut BytesMut) {
    let raw = field_length(object.len());
    let length = field_length(kind.len()) + field_length(raw);
    out.reserve(size_of::<u32>() + length);
    out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    field_head(1, kind.len(), out);
    out.put_slice(kind.as_bytes());
    field_head(2, raw, out);
    field_head(1, object.len(), out);
    out.put_slice(object);
}

#[cfg(test)]
mod tests;
