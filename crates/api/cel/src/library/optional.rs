//! Optional values: made, asked, unwrapped. `or` and `orValue` are the evaluator's where it can save work.

use super::{Fun, first, second};
use crate::error::EvalError;
use crate::value::{Opaque, Value};

pub(crate) const SIGNATURES: &str = "
optional.of optional_of (A) optional(A)
optional.ofNonZeroValue optional_ofNonZeroValue (A) optional(A)
optional.none optional_none () optional(A)
value optional_value optional(A).() A
hasValue optional_hasValue optional(A).() bool
or optional_or_optional optional(A).(optional(A)) optional(A)
orValue optional_orValue_value optional(A).(A) A
first list_first list(A).() optional(A)
last list_last list(A).() optional(A)
optional.unwrap optional_unwrap (list(optional(A))) list(A)
unwrapOpt optional_unwrapOpt list(optional(A)).() list(A)
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("optional.of", |args| Ok(Value::some(first(args)?.clone()))),
    ("optional.ofNonZeroValue", |args| {
        let value = first(args)?;
        Ok(if is_zero(value) { Value::none() } else { Value::some(value.clone()) })
    }),
    ("optional.none", |_| Ok(Value::none())),
    ("value", |args| match of(first(args)?)? {
        Some(value) => Ok(value.clone()),
        None => Err(EvalError::function("optional.none() dereference")),
    }),
    ("hasValue", |args| Ok(Value::Bool(of(first(args)?)?.is_some()))),
    ("or", |args| match of(first(args)?)? {
        Some(_) => first(args).cloned(),
        None => second(args).cloned(),
    }),
    ("orValue", |args| match of(first(args)?)? {
        Some(value) => Ok(value.clone()),
        None => second(args).cloned(),
    }),
    ("first", |args| edge(args, |_| 0)),
    ("last", |args| edge(args, |length| length.saturating_sub(1))),
    ("optional.unwrap", unwrapped),
    ("unwrapOpt", unwrapped),
];

fn of<'v, 'a>(value: &'v Value<'a>) -> Result<Option<&'v Value<'a>>, EvalError> {
    match value {
        Value::Optional(inner) => Ok(inner.as_deref()),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn edge<'a>(args: &[Value<'a>], place: fn(usize) -> usize) -> Result<Value<'a>, EvalError> {
    match first(args)? {
        Value::List(list) if list.len() == 0 => Ok(Value::none()),
        Value::List(list) => Ok(Value::some(list.get(place(list.len()))?)),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn unwrapped<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let Value::List(list) = first(args)? else { return Err(EvalError::NoSuchOverload) };
    let mut kept = Vec::new();
    for item in list.iter() {
        kept.extend(of(&item?)?.cloned());
    }
    Ok(Value::list(kept))
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Int(number) => *number == 0,
        Value::Uint(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::Duration(nanos) => *nanos == 0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.len() == 0,
        Value::Map(map) => map.len() == 0,
        Value::Optional(inner) => inner.is_none(),
        Value::Timestamp(time) => time.is_first(),
        Value::Opaque(opaque) => matches!(&**opaque, Opaque::Quantity(quantity) if quantity.is_zero()),
        Value::Type(_) => false,
    }
}
