//! Equality and order of values: numbers across their types, everything else within its own.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{List, Map, Value};
use crate::decl::ListKind;
use crate::error::EvalError;

/// Values of different types are unequal; nothing here is an error except data that cannot be read.
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>) -> Result<bool, EvalError> {
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => **a == **b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => **a == **b,
        (Value::List(a), Value::List(b)) => lists_equal(a, b)?,
        (Value::Map(a), Value::Map(b)) => maps_equal(a, b)?,
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b)?,
            (None, None) => true,
            _ => false,
        },
        (Value::Opaque(a), Value::Opaque(b)) if a.type_name() == b.type_name() => a.equal(b),
        // These types refuse to be compared with others.
        (Value::Opaque(_), _) => return Err(EvalError::NoSuchOverload),
        _ => numbers(left, right) == Some(Ordering::Equal),
    })
}

fn lists_equal(a: &List<'_>, b: &List<'_>) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    let kind = if *a.kind() == ListKind::Atomic { b.kind() } else { a.kind() };
    for index in 0..a.len() {
        let item = a.get(index)?;
        let same = match kind {
            ListKind::Atomic => equal(&item, &b.get(index)?)?,
            // Sets and lists with keys are equal in any order.
            ListKind::Set | ListKind::Map(_) => any_equal(b, &item)?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn any_equal(list: &List<'_>, wanted: &Value<'_>) -> Result<bool, EvalError> {
    for item in list.iter() {
        if equal(&item?, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn maps_equal(a: &Map<'_>, b: &Map<'_>) -> Result<bool, EvalError> {
    if a.len() != b.len() || matches!((a, b), (Map::Object(x, _), Map::Object(y, _)) if x != y) {
        return Ok(false);
    }
    for key in a.keys() {
        let (Some(left), Some(right)) = (a.get(&key)?, lookup(b, &key)?) else { return Ok(false) };
        if !equal(&left, &right)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The same as `Map::get`, for a key with another lifetime.
fn lookup<'b>(map: &Map<'b>, key: &Value<'_>) -> Result<Option<Value<'b>>, EvalError> {
    if let Value::String(name) = key {
        return map.field(name);
    }
    let Map::Values(entries) = map else { return Ok(None) };
    for (known, value) in entries.iter() {
        if equal(known, key)? {
            return Ok(Some(value.clone()));
        }
    }
    Ok(None)
}

/// Whether two items of a list with keys are the same item.
pub(crate) fn same_keys(a: &Value<'_>, b: &Value<'_>, keys: &[Arc<str>]) -> Result<bool, EvalError> {
    let (Value::Map(a), Value::Map(b)) = (a, b) else { return Ok(false) };
    for key in keys {
        let name = crate::names::escape(key).unwrap_or_default();
        let same = match (a.field(&name)?, b.field(&name)?) {
            (Some(a), Some(b)) => equal(&a, &b)?,
            (None, None) => true,
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `None` where the two have no order, as for a number and NaN.
pub(crate) fn order(left: &Value<'_>, right: &Value<'_>) -> Result<Option<Ordering>, EvalError> {
    Ok(match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Some((**a).cmp(&**b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
            Value::Int(_) | Value::Uint(_) | Value::Double(_),
        ) => numbers(left, right),
        _ => return Err(EvalError::NoSuchOverload),
    })
}

fn numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Double(a), Value::Int(b)) => double_and_whole(*a, i128::from(*b)),
        (Value::Double(a), Value::Uint(b)) => double_and_whole(*a, i128::from(*b)),
        (Value::Int(a), Value::Double(b)) => double_and_whole(*b, i128::from(*a)).map(Ordering::reverse),
        (Value::Uint(a), Value::Double(b)) => double_and_whole(*b, i128::from(*a)).map(Ordering::reverse),
        _ => None,
    }
}

/// As doubles, as upstream compares them, so that whole numbers beyond 2^53 can be equal to a double near them.
fn double_and_whole(double: f64, whole: i128) -> Option<Ordering> {
    double.partial_cmp(&(whole as f64))
}
