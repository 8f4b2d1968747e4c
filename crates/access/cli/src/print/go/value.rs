//! What a template works with: a part of the object, or what a function made of it. Go keeps whole numbers and others apart, and the whole
//! ones of objects and of templates too, though these only by name; so do we.

use std::borrow::Cow;

use serde_json::{Map, Value};

#[derive(Clone, Debug)]
pub(super) enum Val<'v> {
    /// Not there, or nothing.
    None,
    Bool(bool),
    /// Of the template.
    Int(i64),
    /// Of the object.
    Long(i64),
    Float(f64),
    Text(Cow<'v, str>),
    List(&'v [Value]),
    Map(&'v Map<String, Value>),
}

impl<'v> Val<'v> {
    pub(super) fn of(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::None,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Long(whole),
                None => Self::Float(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(list) => Self::List(list),
            Value::Object(map) => Self::Map(map),
        }
    }

    pub(super) fn text(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }

    /// Whether `if` takes it for true.
    pub(super) fn holds(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(truth) => *truth,
            Self::Int(number) | Self::Long(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
        }
    }

    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Self::Int(number) | Self::Long(number) => Some(*number),
            _ => None,
        }
    }

    /// As Go calls it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::None => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Long(_) => "int64",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
        }
    }

    /// The value that a chain of fields leads to. What is missing has missing fields; of what is null, asking for one is an error.
    pub(super) fn fields(self, names: &[String], strict: bool) -> Result<Self, String> {
        let mut found = self;
        let mut null = false;
        for name in names {
            found = match found {
                Self::Map(map) => match map.get(name) {
                    Some(value) => {
                        null = value.is_null();
                        Self::of(value)
                    }
                    None if strict => return Err(format!("map has no entry for key {name:?}")),
                    None => Self::None,
                },
                Self::None if null => return Err(format!("nil pointer evaluating interface {{}}.{name}")),
                Self::None if strict => return Err(format!("nil data; no entry for key {name:?}")),
                Self::None => Self::None,
                _ => return Err(format!("can't evaluate field {name} in type interface {{}}")),
            };
        }
        Ok(found)
    }
}

/// Go goes through maps by their keys.
pub(super) fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}
