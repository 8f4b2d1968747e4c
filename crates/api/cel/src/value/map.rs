//! Maps and objects: JSON where it lies, maps and objects that expressions made, and objects with fields on demand.

use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Text, Value, compare, json};
use crate::decl::Decl;
use crate::error::EvalError;
use crate::types::Type;

#[derive(Clone)]
pub enum Map<'a> {
    /// With the declaration of the map or object, if there is one.
    Json(&'a serde_json::Map<String, Json>, Option<&'a Decl>),
    Values(Arc<Vec<(Value<'a>, Value<'a>)>>),
    /// `Object.spec{…}`: the type's name and the fields that were set.
    Object(&'a str, Arc<Vec<(&'a str, Value<'a>)>>),
    /// The fields of this variable come from the activation, which only the evaluator can ask.
    Lazy(&'a str),
}

impl<'a> Map<'a> {
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Map::Json(_, Some(decl)) => match &decl.ty {
                Type::Object(object) => object.name(),
                _ => "map",
            },
            Map::Object(name, _) => name,
            Map::Json(..) | Map::Values(_) | Map::Lazy(_) => "map",
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Map::Json(entries, _) => entries.len(),
            Map::Values(entries) => entries.len(),
            Map::Object(_, fields) => fields.len(),
            Map::Lazy(_) => 0,
        }
    }

    /// By a name, the commonest key.
    pub(crate) fn field(&self, name: &str) -> Result<Option<Value<'a>>, EvalError> {
        match self {
            Map::Json(entries, None) => Ok(entries.get(name).map(json::read)),
            Map::Json(entries, Some(decl)) => match decl.items() {
                Some(items) => entries.get(name).map(|found| json::read_as(found, Some(items))).transpose(),
                None => {
                    let Some(field) = decl.field(name) else { return Ok(None) };
                    entries.get(&*field.name).map(|found| json::read_as(found, Some(&field.decl))).transpose()
                }
            },
            Map::Values(entries) => {
                let found =
                    entries.iter().find(|(key, _)| matches!(key, Value::String(key) if **key == *name));
                Ok(found.map(|(_, value)| value.clone()))
            }
            Map::Object(_, fields) => {
                Ok(fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value.clone()))
            }
            Map::Lazy(_) => Ok(None),
        }
    }

    /// Whether `has(map.name)` holds, without making the value.
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Map::Json(entries, Some(decl)) if decl.items().is_none() => {
                decl.field(name).is_some_and(|field| entries.contains_key(&*field.name))
            }
            Map::Json(entries, _) => entries.contains_key(name),
            Map::Values(entries) => {
                entries.iter().any(|(key, _)| matches!(key, Value::String(key) if **key == *name))
            }
            Map::Object(_, fields) => fields.iter().any(|(field, _)| *field == name),
            Map::Lazy(_) => false,
        }
    }

    /// By any key. Numbers find each other across their types.
    pub(crate) fn get(&self, key: &Value<'a>) -> Result<Option<Value<'a>>, EvalError> {
        if let Value::String(name) = key {
            return self.field(name);
        }
        match self {
            Map::Values(entries) => {
                for (known, value) in entries.iter() {
                    if compare::equal(known, key)? {
                        return Ok(Some(value.clone()));
                    }
                }
                Ok(None)
            }
            Map::Json(..) | Map::Object(..) | Map::Lazy(_) => Ok(None),
        }
    }

    /// In the order of the entries; of an object only what its declaration knows.
    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Map::Json(entries, decl) => match decl.map(|decl| (decl, &decl.ty)) {
                Some((decl, Type::Object(object))) if decl.items().is_none() => {
                    let (entries, fields): (&'a serde_json::Map<String, Json>, _) =
                        (entries, object.fields());
                    let known = |name: &&'a String| fields.values().any(|field| *field.name == **name);
                    let written = |name: &'a String| match crate::names::escape(name) {
                        Some(escaped) if escaped != *name => Value::shared(escaped),
                        _ => Value::text(name),
                    };
                    entries.keys().filter(known).map(written).collect()
                }
                _ => entries.keys().map(|key| Value::String(Text::Borrowed(key))).collect(),
            },
            Map::Values(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
            Map::Object(_, fields) => fields.iter().map(|(name, _)| Value::text(name)).collect(),
            Map::Lazy(_) => Vec::new(),
        }
    }
}

impl fmt::Debug for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Map::Json(entries, _) => f.debug_map().entries(entries.iter()).finish(),
            Map::Values(entries) => {
                f.debug_map().entries(entries.iter().map(|(key, value)| (key, value))).finish()
            }
            Map::Object(name, fields) => write!(f, "{name}{fields:?}"),
            Map::Lazy(variable) => f.write_str(variable),
        }
    }
}
