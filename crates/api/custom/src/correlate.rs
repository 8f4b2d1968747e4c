//! Finds what a part of a changed object was before. Only what can be told apart has a past: fields, entries of maps, and
//! items of lists with keys.

use serde_json::{Map, Value};

use crate::schema::{List, Schema};

/// What stood at a place before, with the schema of the place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Old<'o> {
    pub(crate) value: &'o Value,
    pub(crate) schema: &'o Schema,
}

impl<'o> Old<'o> {
    /// What was behind a key, if the schema knows the key.
    pub(crate) fn key(self, name: &str) -> Option<Old<'o>> {
        Some(Old { value: self.value.get(name)?, schema: self.schema.behind(name)? })
    }

    /// What an item was, in a list whose items have keys.
    pub(crate) fn item(self, at: usize, new: &Value) -> Option<Old<'o>> {
        let List::Map(keys) = &self.schema.list else { return None };
        let (new, old) = (new.as_object()?, self.value.as_array()?);
        let same = |old: &&Value| old.as_object().is_some_and(|old| same_keys(keys, new, old));
        // Most items stay where they were.
        let value = old.get(at).filter(same).or_else(|| old.iter().find(same))?;
        Some(Old { value, schema: self.schema.items.as_deref()? })
    }

    /// Nothing has changed here; the order of items with keys means nothing.
    pub(crate) fn equals(self, new: &Value) -> bool {
        match (self.value, new) {
            (Value::Array(old), Value::Array(items)) => {
                if old.len() != items.len() {
                    return false;
                }
                match &self.schema.list {
                    List::Map(_) => {
                        let mut items = items.iter().enumerate();
                        items.all(|(at, item)| self.item(at, item).is_some_and(|old| old.equals(item)))
                    }
                    List::Unset | List::Atomic | List::Set => old == items,
                }
            }
            (Value::Object(old), Value::Object(fields)) => {
                old.len() == fields.len()
                    && fields.iter().all(|(name, field)| self.key(name).is_some_and(|old| old.equals(field)))
            }
            (old, new) => old == new,
        }
    }
}

fn same_keys(keys: &[impl AsRef<str>], a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    !keys.is_empty()
        && keys.iter().all(|key| match (a.get(key.as_ref()), b.get(key.as_ref())) {
            (Some(a), Some(b)) => !a.is_object() && !a.is_array() && !a.is_null() && a == b,
            _ => false,
        })
}
