//! Whether a value is of the type that its schema names. A format weighs in, as it does upstream: a value of another type is
//! then told the format and not the type.

use serde_json::{Number, Value};

use super::numbers::is_whole;
use super::{Fault, Found};
use crate::place::Place;
use crate::schema::{Check, Schema, Type};

pub(super) fn check(schema: &Schema, value: &Value, place: &Place<'_>, found: &mut Found) {
    let format = schema.checks.iter().find_map(|check| match check {
        Check::Format(format) => Some(format.name()),
        _ => None,
    });
    if schema.kind.is_none() && !schema.int_or_string && format.is_none() {
        return;
    }
    found.matches += 1;
    let wants = |kind: Type| match schema.int_or_string {
        true => matches!(kind, Type::Integer | Type::String),
        false => schema.kind == Some(kind),
    };
    let wanted = if schema.int_or_string { "integer,string" } else { schema.type_name() };
    let typed = !wanted.is_empty();
    let (is, is_format) = match value {
        Value::Null => {
            if typed && !schema.nullable {
                found.fault(Fault::wrong_type(place, wanted, "null"));
            }
            return;
        }
        Value::Bool(_) => (Type::Boolean, ""),
        Value::Number(number) if is_int(number) => (Type::Integer, "int64"),
        Value::Number(_) => (Type::Number, "float64"),
        Value::String(_) => (Type::String, ""),
        Value::Array(_) => (Type::Array, ""),
        Value::Object(_) => (Type::Object, ""),
    };
    let as_number = match value {
        Value::Number(number) if is == Type::Number => {
            wants(Type::Integer) && number.as_f64().is_some_and(is_whole)
        }
        Value::Number(_) => wants(Type::Number),
        _ => false,
    };
    let sequence = matches!(is, Type::String | Type::Array);
    if let Some(format) = format {
        if !(sequence || wants(is) || is_format == format || as_number) {
            return found.fault(Fault::wrong_type(place, format, is_format));
        }
        if sequence && !wants(Type::Number) && !wants(Type::Integer) {
            found.matches += 1;
            return;
        }
    }
    if wants(is) || as_number {
        found.matches += 1;
    } else {
        found.fault(Fault::wrong_type(place, wanted, is.name()));
    }
}

/// Whether Kubernetes reads the number as an integer: those that need more than 64 bits become floats there.
pub(super) fn is_int(number: &Number) -> bool {
    number.is_i64()
}
