//! The values that expressions see. JSON is read where it lies: a value of it is a reference and what is declared about it.
//! Knows no expressions.

use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::decl::Decl;
use crate::error::EvalError;

pub(crate) mod authorizer;
pub(crate) mod compare;
pub(crate) mod instant;
pub(crate) mod json;
pub(crate) mod list;
pub(crate) mod map;
mod misnamed;
pub(crate) mod opaque;

pub(crate) use instant::Instant;
pub(crate) use list::List;
pub(crate) use map::Map;
pub(crate) use opaque::Opaque;

/// What an expression can yield. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    Timestamp(Instant),
    /// Nanoseconds.
    Duration(i64),
    List(List<'a>),
    Map(Map<'a>),
    Optional(Option<Arc<Value<'a>>>),
    /// A type, by name.
    Type(Text<'a>),
    Opaque(Arc<Opaque>),
}

/// A string that is either someone else's or shared.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

/// Where the variables of an expression come from.
pub trait Activation<'a> {
    /// `None` for a variable that is declared but has no value now.
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>>;

    /// A field of a variable that is [`Value::lazy`]; `None` if it has no such field.
    fn field(&self, _variable: &str, _field: &str) -> Option<Result<Value<'a>, EvalError>> {
        None
    }
}

impl<'a, const N: usize> Activation<'a> for [(&'a str, Value<'a>); N] {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| Ok(value.clone()))
    }
}

impl<'a> Activation<'a> for Vec<(&'a str, Value<'a>)> {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| Ok(value.clone()))
    }
}

impl<'a> Value<'a> {
    /// JSON as it stands, without a schema.
    pub fn json(json: &'a Json) -> Self {
        json::read(json)
    }

    /// JSON as its schema says: a string of the format `date-time` is a timestamp.
    pub fn declared(json: &'a Json, decl: &'a Decl) -> Result<Self, EvalError> {
        json::read_as(json, Some(decl))
    }

    pub fn text(text: &'a str) -> Self {
        Value::String(Text::Borrowed(text))
    }

    pub fn shared(text: impl Into<Arc<str>>) -> Self {
        Value::String(Text::Shared(text.into()))
    }

    pub fn list(items: Vec<Value<'a>>) -> Self {
        Value::List(List::Values(Arc::new(items)))
    }

    pub fn some(value: Value<'a>) -> Self {
        Value::Optional(Some(Arc::new(value)))
    }

    pub fn none() -> Self {
        Value::Optional(None)
    }

    /// A variable whose fields are made when they are asked for, by [`Activation::field`]: the `variables` of a policy.
    pub fn lazy(variable: &'a str) -> Self {
        Value::Map(Map::Lazy(variable))
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// A copy of it in JSON; `Err` for what JSON has no form for.
    pub fn to_json(&self) -> Result<Json, EvalError> {
        json::write(self)
    }

    /// Whether every `Object.a.b{…}` within stands in the field that its name says; the error names the first that does not.
    pub fn check_object_names(&self) -> Result<(), EvalError> {
        match self {
            Value::Map(Map::Object(name, _)) => self.check_names((*name).to_owned()),
            _ => Ok(()),
        }
    }

    fn check_names(&self, path: String) -> Result<(), EvalError> {
        match self {
            Value::Map(Map::Object(name, fields)) => {
                if *name != path {
                    return Err(EvalError::function(format!(
                        "unexpected type name {name:?}, expected {path:?}, which matches field name path from root Object type"
                    )));
                }
                fields.iter().try_for_each(|(field, value)| value.check_names(format!("{path}.{field}")))
            }
            Value::List(List::Values(items)) => {
                items.iter().try_for_each(|item| item.check_names(path.clone()))
            }
            Value::Map(Map::Values(entries)) => {
                entries.iter().try_for_each(|(_, value)| value.check_names(path.clone()))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn opaque(value: Opaque) -> Self {
        Value::Opaque(Arc::new(value))
    }

    /// The name of its type, as `type(x)` yields it.
    pub fn type_name(&self) -> &str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::List(_) => "list",
            Value::Map(map) => map.type_name(),
            Value::Optional(_) => "optional_type",
            Value::Type(_) => "type",
            Value::Opaque(opaque) => opaque.type_name(),
        }
    }

    /// How large it is, for the cost of walking through it.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Value::String(text) => text.chars().count() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Optional(Some(inner)) => inner.size(),
            Value::Opaque(opaque) => opaque.size(),
            _ => 1,
        }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::text(text)
    }
}

impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Value::Bool(truth)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Value::Int(number)
    }
}
