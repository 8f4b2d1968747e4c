//! Walks a value and its schema together: finds fields that the schema does not have and values of the wrong type, and brings
//! the rest into the form that upstream's decode-and-encode gives it. Decides nothing about meaning: that is validation.

mod places;
mod scalars;

use serde_json::{Map, Value};

use crate::schema::{Field, Node, ObjectType, Place, Schemas, Shape, Zero};
use places::Path;
pub use places::json_type;

/// How much of upstream's round trip a value goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A whole object: nulls and empty values vanish where upstream omits them, and what upstream always writes is written.
    Whole,
    /// A fragment, as in a patch: only unknown fields, types and the form of scalars; nulls and empty values mean something.
    Fragment,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Paths of the fields that were removed: `spec.containers[0].imagee`.
    pub unknown: Vec<String>,
    pub errors: Vec<TypeError>,
}

/// A value that does not fit its field, in the words of upstream's decoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TypeError {
    /// Where, for people: `spec.containers[0].ports`.
    pub path: String,
    pub message: String,
}

impl Outcome {
    pub fn is_clean(&self) -> bool {
        self.unknown.is_empty() && self.errors.is_empty()
    }
}

pub fn check(node: Node<'_>, value: &mut Value, mode: Mode) -> Outcome {
    let mut walk = Walk { schemas: node.schemas(), mode, outcome: Outcome::default() };
    let path = Path::root();
    match node.place() {
        Place::Object(object) => walk.object(object, value, &path),
        Place::Shape(shape) => walk.shape(shape, value, &path),
    }
    walk.outcome
}

/// An object of which nothing was given: what upstream always writes. New objects are compared with it to find who owns what.
pub fn empty(node: Node<'_>) -> Value {
    let mut map = Map::new();
    if let Some(object) = node.object() {
        fill(node.schemas(), object, &mut map);
    }
    Value::Object(map)
}

struct Walk<'s> {
    schemas: &'s Schemas,
    mode: Mode,
    outcome: Outcome,
}

impl<'s> Walk<'s> {
    fn object(&mut self, object: &'s ObjectType, value: &mut Value, path: &Path<'_>) {
        let Value::Object(map) = value else {
            return self.mismatch(value, places::type_name(object), path);
        };
        let mut vanishing = false;
        for (key, value) in map.iter_mut() {
            let path = path.field(object, key);
            match object.fields.binary_search_by(|field| (*field.name).cmp(key)) {
                Ok(at) => {
                    if let Some(field) = object.fields.get(at) {
                        self.field(field, value, &path);
                        vanishing |= value.is_null();
                    }
                }
                Err(_) if object.open => {}
                Err(_) => {
                    self.outcome.unknown.push(path.to_string());
                    // Marked by null like everything else that goes; a null of a fragment's known field stays, see below.
                    *value = Value::Null;
                    vanishing = true;
                }
            }
        }
        if vanishing {
            let keeps_nulls = self.mode == Mode::Fragment;
            let is_known = |key: &str| object.fields.binary_search_by(|field| (*field.name).cmp(key)).is_ok();
            map.retain(|key, value| !value.is_null() || object.open || (keeps_nulls && is_known(key)));
        }
        if self.mode == Mode::Whole {
            fill(self.schemas, object, map);
        }
    }

    /// Leaves null where the value should vanish.
    fn field(&mut self, field: &'s Field, value: &mut Value, path: &Path<'_>) {
        if value.is_null() {
            return;
        }
        self.shape(&field.shape, value, path);
        if self.mode == Mode::Whole && field.zero == Zero::Omit && is_empty(value) {
            *value = Value::Null;
        }
    }

    fn shape(&mut self, shape: &'s Shape, value: &mut Value, path: &Path<'_>) {
        match shape {
            Shape::Any => {}
            Shape::Object(id) => {
                if let Some(object) = self.schemas.get(*id) {
                    self.object(object, value, path);
                }
            }
            Shape::Map(item) => {
                let Value::Object(map) = value else {
                    return self.mismatch(value, places::go_type(self.schemas, shape), path);
                };
                for (key, value) in map.iter_mut() {
                    self.item(item, value, &path.entry(key));
                }
            }
            Shape::List(item) => {
                let Value::Array(list) = value else {
                    return self.mismatch(value, places::go_type(self.schemas, shape), path);
                };
                for (at, value) in list.iter_mut().enumerate() {
                    self.item(item, value, &path.item(at));
                }
            }
            scalar => {
                if let Err(fault) = scalars::normalise(scalar, value) {
                    self.fault(fault, value, path);
                }
            }
        }
    }

    /// Something in a list or map cannot be absent: null there is the empty value.
    fn item(&mut self, shape: &'s Shape, value: &mut Value, path: &Path<'_>) {
        if value.is_null() {
            if self.mode == Mode::Fragment {
                return;
            }
            if let Some(zero) = zero_of(self.schemas, shape) {
                *value = zero;
            }
            return;
        }
        self.shape(shape, value, path);
    }

    fn mismatch(&mut self, value: &Value, wanted: String, path: &Path<'_>) {
        self.fault(scalars::Fault::Type { wanted, with_value: false }, value, path);
    }

    fn fault(&mut self, fault: scalars::Fault, value: &Value, path: &Path<'_>) {
        let message = match fault {
            scalars::Fault::Form(message) => message,
            scalars::Fault::Type { wanted, with_value } => {
                let found = match value {
                    Value::Number(number) if with_value => format!("number {number}"),
                    other => json_type(other).to_owned(),
                };
                match path.go() {
                    Some(field) => format!(
                        "json: cannot unmarshal {found} into Go struct field {field} of type {wanted}"
                    ),
                    None => format!("json: cannot unmarshal {found} into Go value of type {wanted}"),
                }
            }
        };
        self.outcome.errors.push(TypeError { path: path.to_string(), message });
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_i64() == Some(0) || number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// Adds what upstream writes although nobody gave it.
fn fill(schemas: &Schemas, object: &ObjectType, map: &mut Map<String, Value>) {
    for field in object.fields.iter().filter(|field| field.zero == Zero::Write) {
        if !map.contains_key(&*field.name)
            && let Some(zero) = zero_of(schemas, &field.shape)
        {
            map.insert(field.name.to_string(), zero);
        }
    }
}

/// The empty value that upstream writes; null for lists, maps and times.
fn zero_of(schemas: &Schemas, shape: &Shape) -> Option<Value> {
    Some(match shape {
        Shape::String | Shape::Bytes => Value::String(String::new()),
        Shape::Bool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Double | Shape::IntOrString => Value::from(0),
        Shape::Quantity => Value::from("0"),
        Shape::Duration => Value::from("0s"),
        Shape::Object(id) => {
            let mut map = Map::new();
            fill(schemas, schemas.get(*id)?, &mut map);
            Value::Object(map)
        }
        Shape::Map(_) | Shape::List(_) | Shape::Time | Shape::MicroTime => Value::Null,
        Shape::Any => return None,
    })
}

#[cfg(test)]
mod tests;
