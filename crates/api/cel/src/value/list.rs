//! Lists: JSON arrays where they lie, or lists that expressions made.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{Value, compare, json};
use crate::decl::{Decl, ListKind};
use crate::error::EvalError;

#[derive(Clone, Debug)]
pub enum List<'a> {
    /// With the declaration of the list, if there is one.
    Json(&'a [Json], Option<&'a Decl>),
    Values(Arc<Vec<Value<'a>>>),
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            List::Json(items, _) => items.len(),
            List::Values(items) => items.len(),
        }
    }

    /// The index must be below `len`.
    pub(crate) fn get(&self, index: usize) -> Result<Value<'a>, EvalError> {
        match self {
            List::Json(items, decl) => match items.get(index) {
                Some(item) => json::read_as(item, decl.and_then(|decl| decl.items.as_deref())),
                None => Err(EvalError::OutOfBounds(index as i64)),
            },
            List::Values(items) => items.get(index).cloned().ok_or(EvalError::OutOfBounds(index as i64)),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Value<'a>, EvalError>> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }

    pub(crate) fn values(&self) -> Result<Vec<Value<'a>>, EvalError> {
        self.iter().collect()
    }

    /// How its items are told apart, if its schema says so.
    pub(crate) fn kind(&self) -> &ListKind {
        match self {
            List::Json(_, Some(decl)) => &decl.list,
            _ => &ListKind::Atomic,
        }
    }

    pub(crate) fn contains(&self, wanted: &Value<'a>) -> Result<bool, EvalError> {
        for item in self.iter() {
            if compare::equal(&item?, wanted)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `self + other`. A set gains what it lacks; a list with keys has the items of the same key replaced.
    pub(crate) fn concat(&self, other: &List<'a>) -> Result<List<'a>, EvalError> {
        let mut joined = self.values()?;
        match self.kind() {
            ListKind::Atomic => {
                for item in other.iter() {
                    joined.push(item?);
                }
            }
            ListKind::Set => {
                for item in other.iter() {
                    let item = item?;
                    if !self.contains(&item)? {
                        joined.push(item);
                    }
                }
            }
            ListKind::Map(keys) => {
                for item in other.iter() {
                    let item = item?;
                    let same = joined
                        .iter()
                        .position(|known| compare::same_keys(known, &item, keys).unwrap_or(false));
                    match same {
                        Some(place) => joined[place] = item,
                        None => joined.push(item),
                    }
                }
            }
        }
        Ok(List::Values(Arc::new(joined)))
    }
}
