//! Writes what the tape found, last field first, each in the form that its shape has in protobuf.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::EncodeError;
use super::back::Back;
use super::plan::{Plan, Step};
use super::tape::{Node, What};
use super::template::{Notes, Value};
use crate::decode::protobuf::JSON_SCHEMA;
use crate::schema::{ObjectType, Schemas, Shape, TypeId, Wire};
use crate::time::{self, Precision};

pub(super) struct Emit<'a> {
    pub(super) plans: &'static [Plan],
    pub(super) schemas: &'a Schemas,
    pub(super) json: &'a [u8],
    pub(super) nodes: &'a [Node],
    pub(super) out: &'a mut Back,
    /// For each struct that is being written, where each of its fields stands; 0, the root's place, where it has none.
    pub(super) slots: &'a mut Vec<u32>,
    /// What is still to be written of lists and maps, the next one last.
    pub(super) stack: &'a mut Vec<u32>,
    /// Hears where everything goes, for other objects to be written after this one.
    pub(super) notes: Option<&'a mut Notes>,
}

/// Where a value stands on the tape.
type Place = usize;

impl<'a> Emit<'a> {
    pub(super) fn root(&mut self, message: TypeId) -> Result<(), EncodeError> {
        self.slots.clear();
        self.stack.clear();
        if self.nodes.is_empty() {
            return Err(EncodeError::Json(0));
        }
        self.message(message, Some(0))
    }

    fn node(&self, at: Place) -> Result<Node, EncodeError> {
        self.nodes.get(at).copied().ok_or(EncodeError::Json(at))
    }

    /// A struct with what is given of it, or with nothing.
    fn message(&mut self, id: TypeId, at: Option<Place>) -> Result<(), EncodeError> {
        let plans = self.plans;
        let (Some(plan), Some(object)) = (plans.get(id.0 as usize), self.schemas.get(id)) else {
            return Ok(());
        };
        let base = self.slots.len();
        self.slots.resize(base + plan.fields, 0);
        if let Some(at) = at {
            let end = self.node(at)?.next as usize;
            let mut child = at + 1;
            while child < end {
                let node = self.node(child)?;
                if let Some(slot) = self.slots.get_mut(base + usize::from(node.field)) {
                    *slot = child as u32;
                }
                child = node.next as usize;
            }
        }
        self.steps(object, &plan.steps, base)?;
        self.slots.truncate(base);
        Ok(())
    }

    fn steps(&mut self, object: &ObjectType, steps: &[Step], base: usize) -> Result<(), EncodeError> {
        for step in steps {
            match step {
                Step::Inlined { number, steps } => {
                    let since = self.open();
                    self.steps(object, steps, base)?;
                    self.close(*number, since);
                }
                Step::Field { index, always } => {
                    let Some(field) = object.fields.get(*index) else { continue };
                    match self.slots.get(base + index) {
                        None | Some(0) if *always => self.nothing(&field.shape, field.tag)?,
                        None | Some(0) => {}
                        Some(&at) => self.field(&field.shape, &field.wire, field.tag, at as usize)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The empty value of a field that is always written.
    fn nothing(&mut self, shape: &Shape, number: u32) -> Result<(), EncodeError> {
        match shape {
            Shape::String => self.out.bytes(number, b""),
            Shape::Bool | Shape::Int32 | Shape::Int64 => self.out.number(number, 0),
            Shape::Double => self.out.double(number, 0.0),
            Shape::Object(id) => {
                let since = self.open();
                self.message(*id, None)?;
                self.close(number, since);
            }
            Shape::IntOrString => self.int_or_string(number, None)?,
            Shape::Quantity => self.out.bytes(number, b"\x0a\x010"),
            Shape::Duration => self.out.bytes(number, b"\x08\0"),
            Shape::Time | Shape::MicroTime => self.out.bytes(number, b""),
            Shape::List(_) | Shape::Map(_) | Shape::Bytes | Shape::Any => {}
        }
        Ok(())
    }

    fn field(&mut self, shape: &Shape, wire: &Wire, number: u32, at: Place) -> Result<(), EncodeError> {
        match shape {
            Shape::List(item) => self.items(item, wire, number, at),
            Shape::Map(item) => self.entries(item, wire, number, at),
            shape => self.value(shape, wire, number, at),
        }
    }

    /// Puts the values directly in a list or map on the stack, and tells how high it was.
    fn children(&mut self, at: Place) -> Result<usize, EncodeError> {
        let height = self.stack.len();
        let end = self.node(at)?.next;
        let mut child = at as u32 + 1;
        while child < end {
            self.stack.push(child);
            child = self.node(child as usize)?.next;
        }
        Ok(height)
    }

    fn items(&mut self, item: &Shape, wire: &Wire, number: u32, at: Place) -> Result<(), EncodeError> {
        let height = self.children(at)?;
        while self.stack.len() > height
            && let Some(child) = self.stack.pop()
        {
            self.value(item, wire, number, child as usize)?;
        }
        Ok(())
    }

    fn entries(&mut self, item: &Shape, wire: &Wire, number: u32, at: Place) -> Result<(), EncodeError> {
        let height = self.children(at)?;
        self.sort_keys(height);
        while self.stack.len() > height
            && let (Some(value), Some(key)) = (self.stack.pop(), self.stack.pop())
        {
            let since = self.open();
            self.value(item, wire, 2, value as usize)?;
            let key = self.text(self.node(key as usize)?)?;
            self.out.bytes(1, key.as_bytes());
            self.close(number, since);
        }
        Ok(())
    }

    /// Upstream writes maps in the order of their keys, which is how objects are stored; so there is hardly ever anything to do.
    fn sort_keys(&mut self, height: usize) {
        let (json, nodes) = (self.json, self.nodes);
        let name = |key: u32| {
            let node = nodes.get(key as usize);
            node.and_then(|node| json.get(node.start as usize..node.end as usize)).unwrap_or_default()
        };
        let entries = self.stack.get(height..).unwrap_or_default();
        let mut pairs = entries.chunks_exact(2);
        if pairs.clone().map(|pair| name(pair[0])).is_sorted() {
            return;
        }
        let mut sorted: Vec<[u32; 2]> = pairs.by_ref().map(|pair| [pair[0], pair[1]]).collect();
        sorted.sort_by_key(|pair| name(pair[0]));
        self.stack.truncate(height);
        self.stack.extend(sorted.into_iter().flatten());
    }

    fn span(&self, node: Node) -> &'a str {
        std::str::from_utf8(self.raw(node)).unwrap_or_default()
    }

    fn raw(&self, node: Node) -> &'a [u8] {
        self.json.get(node.start as usize..node.end as usize).unwrap_or_default()
    }

    fn text(&self, node: Node) -> Result<Cow<'a, str>, EncodeError> {
        match node.what {
            What::EscapedText => {
                let quoted =
                    self.json.get(node.start as usize - 1..node.end as usize + 1).unwrap_or_default();
                serde_json::from_slice(quoted).map(Cow::Owned).map_err(|_| EncodeError::Text)
            }
            _ => Ok(Cow::Borrowed(self.span(node))),
        }
    }

    fn value(&mut self, shape: &Shape, wire: &Wire, number: u32, at: Place) -> Result<(), EncodeError> {
        let node = self.node(at)?;
        match shape {
            shape if node.what == What::Null => self.nothing(shape, number)?,
            Shape::String => self.string(number, node)?,
            Shape::Bytes => {
                let bytes = STANDARD.decode(self.text(node)?.as_bytes()).map_err(|_| EncodeError::Text)?;
                self.out.bytes(number, &bytes);
            }
            Shape::Bool => {
                self.number(number, i64::from(self.raw(node) == b"true"), node, Value::Truth);
            }
            Shape::Int32 | Shape::Int64 => self.number(number, self.integer(node)?, node, Value::Integer),
            Shape::Double => {
                let value = self.span(node).parse().map_err(|_| EncodeError::Text)?;
                self.out.double(number, value);
            }
            Shape::IntOrString => self.int_or_string(number, Some(node))?,
            Shape::Map(_) => {}
            _ => {
                let since = self.open();
                self.nested(shape, wire, at, node)?;
                self.close(number, since);
            }
        }
        Ok(())
    }

    /// What is written from here on until it is closed is a message or a text of its own.
    fn open(&mut self) -> usize {
        if let Some(notes) = &mut self.notes {
            notes.open();
        }
        self.out.position()
    }

    fn close(&mut self, number: u32, since: usize) {
        let end = self.out.position();
        self.out.varint((end - since) as u64);
        if let Some(notes) = &mut self.notes {
            notes.close(end - since, end, self.out.position());
        }
        self.out.key(number, 2);
    }

    /// What was written since then stands for this node and nothing else.
    fn stands_for(&mut self, node: Node, value: Value, since: usize) {
        if let Some(notes) = &mut self.notes {
            let json = (node.start as usize, node.end as usize);
            notes.leaf(value, json, (since, self.out.position()));
        }
    }

    fn string(&mut self, number: u32, node: Node) -> Result<(), EncodeError> {
        let text = match node.what {
            What::EscapedText => Cow::Owned(self.text(node)?.into_owned().into_bytes()),
            _ => Cow::Borrowed(self.raw(node)),
        };
        let since = self.open();
        self.out.push(&text);
        if node.what == What::Text {
            self.stands_for(node, Value::Text, since);
        }
        self.close(number, since);
        Ok(())
    }

    fn number(&mut self, number: u32, value: i64, node: Node, kind: Value) {
        let since = self.out.position();
        self.out.varint(value.cast_unsigned());
        if node.what == What::Bare {
            self.stands_for(node, kind, since);
        }
        self.out.key(number, 0);
    }

    fn integer(&self, node: Node) -> Result<i64, EncodeError> {
        self.span(node).parse().map_err(|_| EncodeError::Text)
    }

    fn int_or_string(&mut self, number: u32, given: Option<Node>) -> Result<(), EncodeError> {
        let since = self.open();
        let text = given.filter(|node| node.what != What::Bare);
        match text {
            Some(node) => self.string(3, node)?,
            None => self.out.bytes(3, b""),
        }
        match given.filter(|node| node.what == What::Bare) {
            Some(node) => self.number(2, self.integer(node)?, node, Value::Integer),
            None => self.out.number(2, 0),
        }
        self.out.number(1, i64::from(text.is_some()));
        self.close(number, since);
        Ok(())
    }

    /// What is a message of its own.
    fn nested(&mut self, shape: &Shape, wire: &Wire, at: Place, node: Node) -> Result<(), EncodeError> {
        match shape {
            Shape::Object(id) => self.message(*id, Some(at)),
            // A list inside a list or map is wrapped in a message of its own.
            Shape::List(item) => self.items(item, wire, 1, at),
            Shape::Quantity => self.string(1, node),
            Shape::Time => self.moment(node, Precision::Seconds),
            Shape::MicroTime => self.moment(node, Precision::Micros),
            Shape::Duration => {
                let length = crate::duration::parse(&self.text(node)?).map_err(|_| EncodeError::Text)?;
                self.out.number(1, length);
                Ok(())
            }
            Shape::Any => self.any(wire, at, node),
            Shape::Map(_)
            | Shape::String
            | Shape::Bytes
            | Shape::Bool
            | Shape::Int32
            | Shape::Int64
            | Shape::Double
            | Shape::IntOrString => Ok(()),
        }
    }

    fn moment(&mut self, node: Node, precision: Precision) -> Result<(), EncodeError> {
        let at = time::parse(&self.text(node)?, precision).map_err(|_| EncodeError::Text)?;
        let since = self.out.position();
        self.out.number(2, i64::from(at.subsec_nanosecond()));
        self.out.number(1, at.as_second());
        if node.what == What::Text {
            self.stands_for(node, Value::Moment(precision), since);
        }
        Ok(())
    }

    fn any(&mut self, wire: &Wire, at: Place, node: Node) -> Result<(), EncodeError> {
        let is_list = node.what == What::Nested && self.json.get(node.start as usize) == Some(&b'[');
        match wire {
            Wire::Plain | Wire::Within(_) => {
                let raw = self.raw(node);
                self.out.bytes(1, raw);
            }
            Wire::SchemaOrBool if node.what == What::Bare => {
                let truth = i64::from(self.raw(node) == b"true");
                self.out.number(1, truth);
            }
            Wire::SchemaOrBool => {
                self.schema(2, at)?;
                self.out.number(1, 1);
            }
            Wire::SchemaOrArray if is_list => {
                let height = self.children(at)?;
                while self.stack.len() > height
                    && let Some(child) = self.stack.pop()
                {
                    self.schema(2, child as usize)?;
                }
            }
            Wire::SchemaOrStrings if is_list => {
                let height = self.children(at)?;
                while self.stack.len() > height
                    && let Some(child) = self.stack.pop()
                {
                    let text = self.text(self.node(child as usize)?)?;
                    self.out.bytes(2, text.as_bytes());
                }
            }
            Wire::SchemaOrArray | Wire::SchemaOrStrings => self.schema(1, at)?,
        }
        Ok(())
    }

    fn schema(&mut self, number: u32, at: Place) -> Result<(), EncodeError> {
        let Some(id) = self.schemas.named(JSON_SCHEMA) else { return Ok(()) };
        let since = self.open();
        self.message(id, Some(at))?;
        self.close(number, since);
        Ok(())
    }
}
