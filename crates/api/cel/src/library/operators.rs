//! Arithmetic, comparison, containment and size. Overflow is an error, never a wrap.

use std::cmp::Ordering;

use super::{Fun, first, room_for, second, time};
use crate::error::EvalError;
use crate::value::{Value, compare};

pub(crate) const SIGNATURES: &str = "
!_ logical_not (bool) bool
_&&_ logical_and (bool,bool) bool
_||_ logical_or (bool,bool) bool
_?_:_ conditional (bool,A,A) A
_==_ equals (A,A) bool
_!=_ not_equals (A,A) bool
_<_ less_bool (bool,bool) bool
_<_ less_int64 (int,int) bool
_<_ less_int64_double (int,double) bool
_<_ less_int64_uint64 (int,uint) bool
_<_ less_uint64 (uint,uint) bool
_<_ less_uint64_double (uint,double) bool
_<_ less_uint64_int64 (uint,int) bool
_<_ less_double (double,double) bool
_<_ less_double_int64 (double,int) bool
_<_ less_double_uint64 (double,uint) bool
_<_ less_string (string,string) bool
_<_ less_bytes (bytes,bytes) bool
_<_ less_timestamp (timestamp,timestamp) bool
_<_ less_duration (duration,duration) bool
_<=_ less_equals_bool (bool,bool) bool
_<=_ less_equals_int64 (int,int) bool
_<=_ less_equals_int64_double (int,double) bool
_<=_ less_equals_int64_uint64 (int,uint) bool
_<=_ less_equals_uint64 (uint,uint) bool
_<=_ less_equals_uint64_double (uint,double) bool
_<=_ less_equals_uint64_int64 (uint,int) bool
_<=_ less_equals_double (double,double) bool
_<=_ less_equals_double_int64 (double,int) bool
_<=_ less_equals_double_uint64 (double,uint) bool
_<=_ less_equals_string (string,string) bool
_<=_ less_equals_bytes (bytes,bytes) bool
_<=_ less_equals_timestamp (timestamp,timestamp) bool
_<=_ less_equals_duration (duration,duration) bool
_>_ greater_bool (bool,bool) bool
_>_ greater_int64 (int,int) bool
_>_ greater_int64_double (int,double) bool
_>_ greater_int64_uint64 (int,uint) bool
_>_ greater_uint64 (uint,uint) bool
_>_ greater_uint64_double (uint,double) bool
_>_ greater_uint64_int64 (uint,int) bool
_>_ greater_double (double,double) bool
_>_ greater_double_int64 (double,int) bool
_>_ greater_double_uint64 (double,uint) bool
_>_ greater_string (string,string) bool
_>_ greater_bytes (bytes,bytes) bool
_>_ greater_timestamp (timestamp,timestamp) bool
_>_ greater_duration (duration,duration) bool
_>=_ greater_equals_bool (bool,bool) bool
_>=_ greater_equals_int64 (int,int) bool
_>=_ greater_equals_int64_double (int,double) bool
_>=_ greater_equals_int64_uint64 (int,uint) bool
_>=_ greater_equals_uint64 (uint,uint) bool
_>=_ greater_equals_uint64_double (uint,double) bool
_>=_ greater_equals_uint64_int64 (uint,int) bool
_>=_ greater_equals_double (double,double) bool
_>=_ greater_equals_double_int64 (double,int) bool
_>=_ greater_equals_double_uint64 (double,uint) bool
_>=_ greater_equals_string (string,string) bool
_>=_ greater_equals_bytes (bytes,bytes) bool
_>=_ greater_equals_timestamp (timestamp,timestamp) bool
_>=_ greater_equals_duration (duration,duration) bool
_+_ add_bytes (bytes,bytes) bytes
_+_ add_double (double,double) double
_+_ add_duration_duration (duration,duration) duration
_+_ add_duration_timestamp (duration,timestamp) timestamp
_+_ add_int64 (int,int) int
_+_ add_list (list(A),list(A)) list(A)
_+_ add_string (string,string) string
_+_ add_timestamp_duration (timestamp,duration) timestamp
_+_ add_uint64 (uint,uint) uint
_-_ subtract_double (double,double) double
_-_ subtract_duration_duration (duration,duration) duration
_-_ subtract_int64 (int,int) int
_-_ subtract_timestamp_duration (timestamp,duration) timestamp
_-_ subtract_timestamp_timestamp (timestamp,timestamp) duration
_-_ subtract_uint64 (uint,uint) uint
_*_ multiply_double (double,double) double
_*_ multiply_int64 (int,int) int
_*_ multiply_uint64 (uint,uint) uint
_/_ divide_double (double,double) double
_/_ divide_int64 (int,int) int
_/_ divide_uint64 (uint,uint) uint
_%_ modulo_int64 (int,int) int
_%_ modulo_uint64 (uint,uint) uint
-_ negate_double (double) double
-_ negate_int64 (int) int
_[_] index_list (list(A),int) A
_[_] index_map (map(A,B),A) B
_[_] optional_list_index_int (optional(list(A)),int) optional(A)
_[_] optional_map_index_value (optional(map(A,B)),A) optional(B)
_[?_] list_optindex_optional_int (list(A),int) optional(A)
_[?_] optional_list_optindex_optional_int (optional(list(A)),int) optional(A)
_[?_] map_optindex_optional_value (map(A,B),A) optional(B)
_[?_] optional_map_optindex_optional_value (optional(map(A,B)),A) optional(B)
@in in_list (A,list(A)) bool
@in in_map (A,map(A,B)) bool
size size_bytes (bytes) int
size bytes_size bytes.() int
size size_list (list(A)) int
size list_size list(A).() int
size size_map (map(A,B)) int
size map_size map(A,B).() int
size size_string (string) int
size string_size string.() int
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("!_", |args| match first(args)? {
        Value::Bool(truth) => Ok(Value::Bool(!truth)),
        _ => Err(EvalError::NoSuchOverload),
    }),
    // The evaluator has these itself, since they do not always look at all their arguments.
    ("_&&_", |_| Err(EvalError::NoSuchOverload)),
    ("_||_", |_| Err(EvalError::NoSuchOverload)),
    ("_?_:_", |_| Err(EvalError::NoSuchOverload)),
    ("_[_]", |args| index(first(args)?, second(args)?)),
    ("_[?_]", |args| optional_index(first(args)?, second(args)?)),
    ("_==_", |args| Ok(Value::Bool(compare::equal(first(args)?, second(args)?)?))),
    ("_!=_", |args| Ok(Value::Bool(!compare::equal(first(args)?, second(args)?)?))),
    ("_<_", |args| ordered(args, |order| order == Ordering::Less)),
    ("_<=_", |args| ordered(args, |order| order != Ordering::Greater)),
    ("_>_", |args| ordered(args, |order| order == Ordering::Greater)),
    ("_>=_", |args| ordered(args, |order| order != Ordering::Less)),
    ("_+_", |args| add(first(args)?, second(args)?)),
    ("_-_", |args| subtract(first(args)?, second(args)?)),
    ("_*_", |args| match (first(args)?, second(args)?) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_mul(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("_/_", |args| match (first(args)?, second(args)?) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::DivideByZero),
        (Value::Int(a), Value::Int(b)) => int(a.checked_div(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("_%_", |args| match (first(args)?, second(args)?) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::ModulusByZero),
        (Value::Int(a), Value::Int(b)) => int(a.checked_rem(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(*b)),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("-_", |args| match first(args)? {
        Value::Int(number) => int(number.checked_neg()),
        Value::Double(number) => Ok(Value::Double(-number)),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("@in", |args| match (first(args)?, second(args)?) {
        (wanted, Value::List(list)) => Ok(Value::Bool(list.contains(wanted)?)),
        (Value::String(name), Value::Map(map)) => Ok(Value::Bool(map.has(name))),
        (wanted, Value::Map(map)) => Ok(Value::Bool(map.get(wanted)?.is_some())),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("size", |args| match first(args)? {
        value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_)) => {
            Ok(Value::Int(i64::try_from(value.size()).unwrap_or(i64::MAX)))
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
];

fn int<'a>(number: Option<i64>) -> Result<Value<'a>, EvalError> {
    number.map(Value::Int).ok_or(EvalError::Overflow("integer"))
}

fn uint<'a>(number: Option<u64>) -> Result<Value<'a>, EvalError> {
    number.map(Value::Uint).ok_or(EvalError::Overflow("unsigned integer"))
}

fn duration<'a>(nanos: Option<i64>) -> Result<Value<'a>, EvalError> {
    nanos.map(Value::Duration).ok_or(EvalError::Overflow("integer"))
}

fn ordered<'a>(args: &[Value<'a>], holds: fn(Ordering) -> bool) -> Result<Value<'a>, EvalError> {
    let order = compare::order(first(args)?, second(args)?)?.ok_or(EvalError::NotOrdered)?;
    Ok(Value::Bool(holds(order)))
}

pub(crate) fn add<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, EvalError> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => {
            room_for(a.len().saturating_add(b.len()))?;
            Ok(Value::shared([&**a, &**b].concat()))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            room_for(a.len().saturating_add(b.len()))?;
            Ok(Value::Bytes([&**a, &**b].concat().into()))
        }
        (Value::List(a), Value::List(b)) => Ok(Value::List(a.concat(b)?)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        (Value::Timestamp(at), Value::Duration(by)) | (Value::Duration(by), Value::Timestamp(at)) => {
            time::add(*at, *by)
        }
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>, EvalError> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_sub(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => time::between(*a, *b),
        (Value::Timestamp(at), Value::Duration(by)) => {
            time::add(*at, by.checked_neg().ok_or(EvalError::Overflow("timestamp"))?)
        }
        _ => Err(EvalError::NoSuchOverload),
    }
}

/// How a missing key is shown.
fn key_text(key: &Value<'_>) -> String {
    match key {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Double(number) => number.to_string(),
        other => other.type_name().to_owned(),
    }
}

/// `a[b]`
pub(crate) fn index<'a>(of: &Value<'a>, key: &Value<'a>) -> Result<Value<'a>, EvalError> {
    match of {
        Value::Map(map) => map.get(key)?.ok_or_else(|| EvalError::NoSuchKey(key_text(key))),
        Value::List(list) => {
            let index = match key {
                Value::Int(index) => *index,
                Value::Uint(index) => i64::try_from(*index).unwrap_or(i64::MAX),
                Value::Double(index) if index.fract() == 0.0 => *index as i64,
                _ => {
                    return Err(EvalError::function(format!(
                        "unsupported index type '{}' in list",
                        key.type_name()
                    )));
                }
            };
            match usize::try_from(index) {
                Ok(place) if place < list.len() => list.get(place),
                _ => Err(EvalError::OutOfBounds(index)),
            }
        }
        Value::Optional(Some(inner)) => optional_index(inner, key),
        Value::Optional(None) => Ok(Value::none()),
        _ => Err(EvalError::NoSuchKey(key_text(key))),
    }
}

/// `a[?b]`: absence is a value.
pub(crate) fn optional_index<'a>(of: &Value<'a>, key: &Value<'a>) -> Result<Value<'a>, EvalError> {
    match of {
        Value::Optional(Some(inner)) => optional_index(inner, key),
        Value::Optional(None) => Ok(Value::none()),
        _ => match index(of, key) {
            Ok(found) => Ok(Value::some(found)),
            Err(EvalError::NoSuchKey(_) | EvalError::OutOfBounds(_)) => Ok(Value::none()),
            Err(other) => Err(other),
        },
    }
}
