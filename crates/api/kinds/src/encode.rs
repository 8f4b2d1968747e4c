//! Writes values in upstream's protobuf, by the table. The counterpart of `decode::protobuf`; what has no number is left out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::decode::protobuf::{JSON_SCHEMA, MAGIC};
use crate::schema::{Field, Node, ObjectType, Schemas, Shape, Wire};
use crate::time::{self, Precision};

/// A whole object or list with its envelope. The node is the schema of the value's kind.
pub fn protobuf(node: Node<'_>, value: &Value) -> Option<Vec<u8>> {
    let object = node.object()?;
    let map = value.as_object()?;
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut meta = Out::default();
    meta.bytes(1, text("apiVersion").as_bytes());
    meta.bytes(2, text("kind").as_bytes());
    let mut raw = Out::default();
    Writer { schemas: node.schemas() }.message(object, map, &[], &mut raw);
    let mut envelope = Out { bytes: MAGIC.to_vec() };
    envelope.bytes(1, &meta.bytes);
    envelope.bytes(2, &raw.bytes);
    envelope.bytes(3, b"");
    envelope.bytes(4, b"");
    Some(envelope.bytes)
}

/// An event of a watch around an object that has its envelope already. Without an envelope of its own, and without the length
/// that precedes it in a stream.
pub fn watch_event(kind: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Out::default();
    raw.bytes(1, object);
    let mut event = Out::default();
    event.bytes(1, kind.as_bytes());
    event.bytes(2, &raw.bytes);
    event.bytes
}

#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
}

impl Out {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            // The low seven bits, and the sign that more follow.
            self.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn tag(&mut self, number: u32, wire: u64) {
        self.varint(u64::from(number) << 3 | wire);
    }

    fn number(&mut self, tag: u32, number: i64) {
        self.tag(tag, 0);
        self.varint(number.cast_unsigned());
    }

    fn double(&mut self, tag: u32, number: f64) {
        self.tag(tag, 1);
        self.bytes.extend_from_slice(&number.to_bits().to_le_bytes());
    }

    fn bytes(&mut self, tag: u32, bytes: &[u8]) {
        self.tag(tag, 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }
}

struct Writer<'s> {
    schemas: &'s Schemas,
}

impl Writer<'_> {
    /// The object's fields that stand in the inlined messages `within`, and deeper ones as messages of their own.
    fn message(&self, object: &ObjectType, map: &Map<String, Value>, within: &[u32], out: &mut Out) {
        let mut deeper: Vec<u32> = Vec::new();
        for field in object.fields.iter().filter(|field| field.tag > 0) {
            let outer = outer(field);
            if outer == within {
                if let Some(value) = map.get(&*field.name).filter(|value| !value.is_null()) {
                    self.field(field, value, out);
                }
            } else if let Some(&next) = outer.strip_prefix(within).and_then(<[u32]>::first)
                && !deeper.contains(&next)
                && map.contains_key(&*field.name)
            {
                deeper.push(next);
            }
        }
        for next in deeper {
            let mut inner = Out::default();
            self.message(object, map, &[within, &[next]].concat(), &mut inner);
            out.bytes(next, &inner.bytes);
        }
    }

    fn field(&self, field: &Field, value: &Value, out: &mut Out) {
        match &field.shape {
            Shape::List(item) => {
                for value in value.as_array().into_iter().flatten() {
                    self.value(item, &field.wire, value, field.tag, out);
                }
            }
            Shape::Map(item) => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    let mut entry = Out::default();
                    entry.bytes(1, key.as_bytes());
                    self.value(item, &field.wire, value, 2, &mut entry);
                    out.bytes(field.tag, &entry.bytes);
                }
            }
            shape => self.value(shape, &field.wire, value, field.tag, out),
        }
    }

    fn value(&self, shape: &Shape, wire: &Wire, value: &Value, tag: u32, out: &mut Out) {
        let text = || value.as_str().unwrap_or_default();
        match shape {
            Shape::String => out.bytes(tag, text().as_bytes()),
            Shape::Bytes => out.bytes(tag, &STANDARD.decode(text()).unwrap_or_default()),
            Shape::Bool => out.number(tag, i64::from(value.as_bool().unwrap_or_default())),
            Shape::Int32 | Shape::Int64 => out.number(tag, value.as_i64().unwrap_or_default()),
            Shape::Double => out.double(tag, value.as_f64().unwrap_or_default()),
            _ => {
                let mut inner = Out::default();
                self.nested(shape, wire, value, &mut inner);
                out.bytes(tag, &inner.bytes);
            }
        }
    }

    /// Everything that is a message on the wire.
    fn nested(&self, shape: &Shape, wire: &Wire, value: &Value, out: &mut Out) {
        let text = || value.as_str().unwrap_or_default();
        match shape {
            Shape::Object(id) => {
                if let (Some(object), Some(map)) = (self.schemas.get(*id), value.as_object()) {
                    self.message(object, map, &[], out);
                }
            }
            // A list inside a list or map is wrapped in a message of its own.
            Shape::List(item) => {
                for value in value.as_array().into_iter().flatten() {
                    self.value(item, wire, value, 1, out);
                }
            }
            Shape::Quantity => out.bytes(1, text().as_bytes()),
            Shape::IntOrString => match value.as_i64() {
                Some(number) => {
                    out.number(1, 0);
                    out.number(2, number);
                    out.bytes(3, b"");
                }
                None => {
                    out.number(1, 1);
                    out.number(2, 0);
                    out.bytes(3, text().as_bytes());
                }
            },
            Shape::Time => moment(text(), Precision::Seconds, out),
            Shape::MicroTime => moment(text(), Precision::Micros, out),
            Shape::Duration => out.number(1, crate::duration::parse(text()).unwrap_or_default()),
            Shape::Any => self.any(wire, value, out),
            Shape::Map(_)
            | Shape::String
            | Shape::Bytes
            | Shape::Bool
            | Shape::Int32
            | Shape::Int64
            | Shape::Double => {}
        }
    }

    fn any(&self, wire: &Wire, value: &Value, out: &mut Out) {
        let schema = |value: &Value, tag, out: &mut Out| {
            let object = self.schemas.named(JSON_SCHEMA).and_then(|id| self.schemas.get(id));
            if let (Some(object), Some(map)) = (object, value.as_object()) {
                let mut inner = Out::default();
                self.message(object, map, &[], &mut inner);
                out.bytes(tag, &inner.bytes);
            }
        };
        match (wire, value) {
            (Wire::Plain | Wire::Within(_), value) => out.bytes(1, value.to_string().as_bytes()),
            (Wire::SchemaOrArray, Value::Array(list)) => list.iter().for_each(|value| schema(value, 2, out)),
            (Wire::SchemaOrBool, Value::Bool(truth)) => out.number(1, i64::from(*truth)),
            (Wire::SchemaOrBool, value) => {
                out.number(1, 1);
                schema(value, 2, out);
            }
            (Wire::SchemaOrStrings, Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).for_each(|text| out.bytes(2, text.as_bytes()));
            }
            (Wire::SchemaOrArray | Wire::SchemaOrStrings, value) => schema(value, 1, out),
        }
    }
}

/// A text that is no time is written as none.
fn moment(text: &str, precision: Precision, out: &mut Out) {
    if let Ok(at) = time::parse(text, precision) {
        out.number(1, at.as_second());
        out.number(2, i64::from(at.subsec_nanosecond()));
    }
}

fn outer(field: &Field) -> &[u32] {
    match &field.wire {
        Wire::Within(numbers) => numbers,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
