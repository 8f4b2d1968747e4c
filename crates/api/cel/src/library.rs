//! All functions that expressions can call: one file per library, each with its signatures and what they do.
//! Knows values, not expressions.

use std::sync::Arc;

use crate::error::EvalError;
use crate::value::{Map, Value};

pub(crate) mod format;
pub(crate) mod semver;
pub(crate) mod time;
pub(crate) mod url;

/// What a function does with its arguments, the receiver first.
pub(crate) type Fun = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>, EvalError>;

fn first<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v Value<'a>, EvalError> {
    args.first().ok_or(EvalError::NoSuchOverload)
}

fn second<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v Value<'a>, EvalError> {
    args.get(1).ok_or(EvalError::NoSuchOverload)
}

fn map<'a>(entries: Vec<(Value<'a>, Value<'a>)>) -> Value<'a> {
    Value::Map(Map::Values(Arc::new(entries)))
}
