//! Objects as a change reads them: with the account of who owns which field left as text. That account is a third of an object, and most
//! changes look at little of it. Knows where it stands and not what it says.

use std::fmt;
use std::sync::LazyLock;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// An owner's fields.
pub(crate) const FIELDS: &str = "fieldsV1";

/// Stands in the place of an owner's fields while they are text. Nobody can send what nobody can guess.
static TEXT: LazyLock<String> = LazyLock::new(|| format!("{FIELDS} {}", uuid::Uuid::new_v4()));

/// The object in stored bytes.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    match Part::Object.deserialize(&mut json) {
        Ok(object) => json.end().map(|()| object),
        // Something stands there that is no object of ours; whoever asks has to live with it as it is.
        Err(_) => serde_json::from_slice(bytes),
    }
}

/// Takes the text of an owner's fields out, if it is text.
pub(crate) fn take(owner: &mut Map<String, Value>) -> Option<String> {
    match owner.remove(&**TEXT) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

pub(crate) fn put(owner: &mut Map<String, Value>, text: String) {
    owner.insert(TEXT.clone(), Value::String(text));
}

/// The text behind this name of an owner, if it is one of fields.
pub(crate) fn text<'v>(name: &str, value: &'v Value) -> Option<&'v str> {
    value.as_str().filter(|_| name == TEXT.as_str())
}

/// The object has such texts.
pub(crate) fn is_in(object: &Value) -> bool {
    let owners = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    owners.and_then(Value::as_array).into_iter().flatten().any(|owner| owner.get(&**TEXT).is_some())
}

/// The object as everybody else knows it.
pub(crate) fn whole(mut object: Value) -> Value {
    expand(&mut object);
    object
}

pub(crate) fn expand(object: &mut Value) {
    let owners = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields"));
    for owner in owners.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(owner) = owner
            && let Some(text) = take(owner)
        {
            // It was read before, so that it can be read.
            owner.insert(FIELDS.to_owned(), serde_json::from_str(&text).unwrap_or_default());
        }
    }
}

/// What is being read.
#[derive(Clone, Copy)]
enum Part {
    Object,
    Metadata,
    Owners,
    Owner,
}

impl Part {
    /// What stands behind a name; none if it is read like anything.
    fn named(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Object, "metadata") => Some(Self::Metadata),
            (Self::Metadata, "managedFields") => Some(Self::Owners),
            _ => None,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        match self {
            Self::Owners => json.deserialize_seq(self),
            Self::Object | Self::Metadata | Self::Owner => json.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of the API")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if matches!(self, Self::Owner) && name == FIELDS {
                let fields: &'de RawValue = members.next_value()?;
                if !fields.get().starts_with('{') {
                    return Err(A::Error::custom("fields are no map"));
                }
                put(&mut map, fields.get().to_owned());
                continue;
            }
            let value = match self.named(&name) {
                Some(part) => members.next_value_seed(part)?,
                None => members.next_value()?,
            };
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self::Owner)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
}

#[cfg(test)]
mod tests;
