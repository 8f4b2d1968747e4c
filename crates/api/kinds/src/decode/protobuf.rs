//! Upstream's protobuf, read by the table: an envelope that names the kind, and in it a message whose numbers the schema has.
//! The value is the one that the same object would have in JSON. Any bytes at all end in a value or an error.

mod special;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::DecodeError;
use crate::builtin::{Builtin, builtin};
use crate::schema::{Field, ObjectType, Schemas, Shape, Wire, Zero};
use crate::time;
use special::{inner, int_or_string, moment};
pub use wire::WireError;
use wire::{Datum, Reader};

/// What every protobuf body starts with.
pub const MAGIC: &[u8] = b"k8s\0";

/// Deeper messages are refused: no built-in kind but a CRD's schema nests without end.
const MAX_DEPTH: usize = 100;

pub(crate) const JSON_SCHEMA: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

pub(super) fn read(bytes: &[u8]) -> Result<Value, DecodeError> {
    let table = builtin();
    let Some(envelope) = bytes.strip_prefix(MAGIC) else { return Err(DecodeError::NoProtobuf) };
    open(table, envelope, 0)
}

/// `runtime.Unknown`
fn open(table: &Builtin, envelope: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let (mut version, mut kind, mut raw, mut content) =
        (String::new(), String::new(), Vec::new(), String::new());
    let mut reader = Reader::new(envelope);
    while let Some((number, datum)) = reader.next().map_err(DecodeError::Protobuf)? {
        match (number, datum) {
            (1, Datum::Bytes(meta)) => {
                let mut reader = Reader::new(meta);
                while let Some((number, datum)) = reader.next().map_err(DecodeError::Protobuf)? {
                    match number {
                        1 => version = datum.text().map_err(DecodeError::Protobuf)?,
                        2 => kind = datum.text().map_err(DecodeError::Protobuf)?,
                        _ => {}
                    }
                }
            }
            (2, Datum::Bytes(bytes)) => raw = bytes.to_vec(),
            (4, datum) => content = datum.text().map_err(DecodeError::Protobuf)?,
            _ => {}
        }
    }
    if content == "application/json" {
        return super::json::read(&raw).map(|decoded| decoded.value);
    }
    let (group, bare) = version.split_once('/').unwrap_or(("", version.as_str()));
    let Some(object) = table.schema_of(group, bare, &kind).and_then(|node| node.object()) else {
        return Err(DecodeError::UnknownKind { version, kind });
    };
    let mut map = message(&table.schemas, object, &raw, depth).map_err(DecodeError::Protobuf)?;
    map.insert("apiVersion".into(), version.into());
    map.insert("kind".into(), kind.into());
    Ok(Value::Object(map))
}

fn message(
    schemas: &Schemas,
    object: &ObjectType,
    bytes: &[u8],
    depth: usize,
) -> Result<Map<String, Value>, WireError> {
    let mut map = Map::new();
    let mut scan = Scan { schemas, object, map: &mut map, depth };
    scan.fill(bytes, &mut Vec::new())?;
    Ok(map)
}

struct Scan<'a> {
    schemas: &'a Schemas,
    object: &'a ObjectType,
    map: &'a mut Map<String, Value>,
    depth: usize,
}

impl Scan<'_> {
    /// Reads a message whose fields belong to the object; `within` are the inlined messages we are in.
    fn fill(&mut self, bytes: &[u8], within: &mut Vec<u32>) -> Result<(), WireError> {
        if self.depth > MAX_DEPTH {
            return Err(WireError::Depth);
        }
        let mut reader = Reader::new(bytes);
        while let Some((number, datum)) = reader.next()? {
            let place = |field: &&Field| field.tag == number && outer(field) == within.as_slice();
            if let Some(field) = self.object.fields.iter().find(place) {
                self.field(field, datum)?;
                continue;
            }
            within.push(number);
            if let Datum::Bytes(inner) = datum
                && self.object.fields.iter().any(|field| outer(field).starts_with(within))
            {
                self.fill(inner, within)?;
            }
            within.pop();
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, datum: Datum<'_>) -> Result<(), WireError> {
        match &field.shape {
            Shape::List(item) => {
                let mut read = Vec::new();
                if let (Datum::Bytes(packed), Shape::Int32 | Shape::Int64 | Shape::Bool) = (&datum, &**item) {
                    let mut reader = Reader::new(packed);
                    while let Some(number) = reader.varint_or_end()? {
                        read.push(self.value(item, &field.wire, Datum::Number(number))?);
                    }
                } else {
                    read.push(self.value(item, &field.wire, datum)?);
                }
                let list = self.map.entry(&*field.name).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(list) = list {
                    list.append(&mut read);
                }
            }
            Shape::Map(item) => {
                let (key, value) = self.entry(item, &field.wire, datum)?;
                let map = self.map.entry(&*field.name).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(map) = map {
                    map.insert(key, value);
                }
            }
            Shape::Object(id) => {
                let Some(object) = self.schemas.get(*id) else { return Ok(()) };
                // A message that comes in pieces is merged, as protobuf demands.
                let mut map = match self.map.remove(&*field.name) {
                    Some(Value::Object(map)) => map,
                    _ => Map::new(),
                };
                Scan { schemas: self.schemas, object, map: &mut map, depth: self.depth + 1 }
                    .fill(datum.bytes()?, &mut Vec::new())?;
                self.map.insert(field.name.to_string(), Value::Object(map));
            }
            shape => {
                let value = self.value(shape, &field.wire, datum)?;
                let empty = match &value {
                    Value::Null => true,
                    Value::Bool(truth) => !truth,
                    Value::String(text) => text.is_empty(),
                    Value::Number(number) => number.as_f64() == Some(0.0),
                    Value::Array(_) | Value::Object(_) => false,
                };
                // Protobuf carries empty values of fields that JSON would leave out.
                if !(value.is_null() || empty && field.zero == Zero::Omit) {
                    self.map.insert(field.name.to_string(), value);
                }
            }
        }
        Ok(())
    }

    fn entry(&self, item: &Shape, wire: &Wire, datum: Datum<'_>) -> Result<(String, Value), WireError> {
        let (mut key, mut value) = (String::new(), None);
        let mut reader = Reader::new(datum.bytes()?);
        while let Some((number, datum)) = reader.next()? {
            match number {
                1 => key = datum.text()?,
                2 => value = Some(self.value(item, wire, datum)?),
                _ => {}
            }
        }
        let empty = match item {
            Shape::String | Shape::Bytes => Value::String(String::new()),
            Shape::Quantity => "0".into(),
            Shape::Object(_) | Shape::Map(_) => Value::Object(Map::new()),
            Shape::List(_) => Value::Array(Vec::new()),
            _ => Value::Null,
        };
        Ok((key, value.unwrap_or(empty)))
    }

    fn value(&self, shape: &Shape, wire: &Wire, datum: Datum<'_>) -> Result<Value, WireError> {
        Ok(match shape {
            Shape::String => datum.text()?.into(),
            Shape::Bytes => STANDARD.encode(datum.bytes()?).into(),
            Shape::Bool => Value::Bool(datum.number()? != 0),
            // Numbers are written in 64 bits, negative ones too; the lower half is what counts.
            Shape::Int32 => (datum.signed()? as i32).into(),
            Shape::Int64 => datum.signed()?.into(),
            Shape::Double => datum.double()?.into(),
            Shape::IntOrString => int_or_string(datum.bytes()?)?,
            Shape::Quantity => inner(datum.bytes()?, 1)?
                .map_or_else(|| Ok("0".into()), |datum| datum.text().map(Value::from))?,
            Shape::Time => moment(datum.bytes()?, time::Precision::Seconds)?,
            Shape::MicroTime => moment(datum.bytes()?, time::Precision::Micros)?,
            Shape::Duration => {
                let nanos = inner(datum.bytes()?, 1)?.map_or(Ok(0), |datum| datum.signed())?;
                crate::duration::write(nanos).into()
            }
            Shape::Object(id) => match self.schemas.get(*id) {
                Some(object) => Value::Object(message(self.schemas, object, datum.bytes()?, self.depth + 1)?),
                None => Value::Null,
            },
            // A list inside a list or map is wrapped in a message of its own.
            Shape::List(item) => {
                let mut list = Vec::new();
                let mut reader = Reader::new(datum.bytes()?);
                while let Some((_, datum)) = reader.next()? {
                    list.push(self.value(item, wire, datum)?);
                }
                Value::Array(list)
            }
            Shape::Map(item) => {
                let (key, value) = self.entry(item, wire, datum)?;
                Value::Object(Map::from_iter([(key, value)]))
            }
            Shape::Any => self.any(wire, datum.bytes()?)?,
        })
    }

    fn any(&self, wire: &Wire, bytes: &[u8]) -> Result<Value, WireError> {
        let schema = || self.schemas.named(JSON_SCHEMA).and_then(|id| self.schemas.get(id));
        let schema = |bytes| match schema() {
            Some(object) => Ok(Value::Object(message(self.schemas, object, bytes, self.depth + 1)?)),
            None => Ok(Value::Null),
        };
        match wire {
            Wire::Plain | Wire::Within(_) => self.raw(bytes),
            Wire::SchemaOrArray => match inner(bytes, 1)? {
                Some(datum) => schema(datum.bytes()?),
                None => {
                    let mut list = Vec::new();
                    let mut reader = Reader::new(bytes);
                    while let Some((_, datum)) = reader.next()? {
                        list.push(schema(datum.bytes()?)?);
                    }
                    Ok(Value::Array(list))
                }
            },
            Wire::SchemaOrBool => match inner(bytes, 2)? {
                Some(datum) => schema(datum.bytes()?),
                None => Ok(Value::Bool(inner(bytes, 1)?.map_or(Ok(0), |datum| datum.number())? != 0)),
            },
            Wire::SchemaOrStrings => match inner(bytes, 1)? {
                Some(datum) => schema(datum.bytes()?),
                None => {
                    let mut list = Vec::new();
                    let mut reader = Reader::new(bytes);
                    while let Some((_, datum)) = reader.next()? {
                        list.push(datum.text()?.into());
                    }
                    Ok(Value::Array(list))
                }
            },
        }
    }

    /// Raw JSON, or a whole object in an envelope of its own.
    fn raw(&self, bytes: &[u8]) -> Result<Value, WireError> {
        let Some(datum) = inner(bytes, 1)? else { return Ok(Value::Null) };
        let raw = datum.bytes()?;
        if let Some(envelope) = raw.strip_prefix(MAGIC) {
            if self.depth >= MAX_DEPTH {
                return Err(WireError::Depth);
            }
            return open(builtin(), envelope, self.depth + 1).map_err(|_| WireError::Raw);
        }
        if raw.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(raw).map_err(|_| WireError::Raw)
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
