//! JSON to values, lazily, and values to JSON. What a schema declares decides how a JSON value is read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value as Json};

use super::{Instant, List, Map, Text, Value};
use crate::decl::{Decl, Reading};
use crate::error::EvalError;
use crate::library::time;
use crate::types::Type;

/// Without a schema.
pub(crate) fn read(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => read_number(number),
        Json::String(text) => Value::String(Text::Borrowed(text)),
        Json::Array(items) => Value::List(List::Json(items, None)),
        Json::Object(entries) => Value::Map(Map::Json(entries, None)),
    }
}

fn read_number(number: &Number) -> Value<'static> {
    match number.as_i64() {
        Some(whole) => Value::Int(whole),
        None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
    }
}

/// As declared. What contradicts the declaration is an error, seen only when that value is used.
pub(crate) fn read_as<'a>(json: &'a Json, decl: Option<&'a Decl>) -> Result<Value<'a>, EvalError> {
    let Some(decl) = decl else { return Ok(read(json)) };
    let bad = |what: String| EvalError::Data(what);
    if json.is_null() {
        if decl.nullable || decl.ty.is_dyn() && decl.reading == Reading::Plain {
            return Ok(Value::Null);
        }
        return Err(bad("invalid data, got null for schema with nullable=false".into()));
    }
    match (&decl.ty, json) {
        (Type::Dyn, Json::String(_)) => Ok(read(json)),
        (Type::Dyn, Json::Number(number)) if decl.reading == Reading::IntOrString && number.is_i64() => {
            Ok(read(json))
        }
        (Type::Dyn, _) if decl.reading == Reading::IntOrString => {
            Err(bad("invalid data, expected XIntOrString value to be either a string or integer".into()))
        }
        (Type::Object(_) | Type::Map(..), Json::Object(entries)) => {
            Ok(Value::Map(Map::Json(entries, Some(decl))))
        }
        (Type::Object(_) | Type::Map(..), _) => {
            Err(bad("invalid data, expected a map for the provided schema with type=object".into()))
        }
        (Type::List(_), Json::Array(items)) => Ok(Value::List(List::Json(items, Some(decl)))),
        (Type::List(_), _) => {
            Err(bad("invalid data, expected an array for the provided schema with type=array".into()))
        }
        (Type::Double, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
        (Type::Double, _) => Err(bad(format!("invalid data, expected float, got {}", go_type(json)))),
        (Type::Int, Json::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(Value::Int(whole)),
            (None, Some(double)) if double.fract() == 0.0 && double.abs() < 9.2e18 => {
                Ok(Value::Int(double as i64))
            }
            _ => Err(bad("invalid data, expected int, got float64".into())),
        },
        (Type::Int, _) => Err(bad(format!("invalid data, expected int, got {}", go_type(json)))),
        (Type::Bool, Json::Bool(truth)) => Ok(Value::Bool(*truth)),
        (Type::Bool, _) => Err(bad(format!("invalid data, expected bool, got {}", go_type(json)))),
        (Type::String | Type::Bytes | Type::Timestamp | Type::Duration, Json::String(text)) => {
            read_text(text, decl.reading)
        }
        (Type::String | Type::Bytes | Type::Timestamp | Type::Duration, _) => {
            Err(bad(format!("invalid data, expected string, got {}", go_type(json))))
        }
        (Type::Optional(_), _) => Ok(Value::some(read_as_inner(json, decl)?)),
        _ => Ok(read(json)),
    }
}

/// The declaration of an optional value has the sizes and items of the value itself; only its type is wrapped.
fn read_as_inner<'a>(json: &'a Json, decl: &'a Decl) -> Result<Value<'a>, EvalError> {
    match json {
        Json::Object(entries) => Ok(Value::Map(Map::Json(entries, Some(decl)))),
        Json::Array(items) => Ok(Value::List(List::Json(items, Some(decl)))),
        Json::String(text) => read_text(text, decl.reading),
        Json::Number(number) if decl.reading == Reading::Double => {
            Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN)))
        }
        other => Ok(read(other)),
    }
}

fn read_text(text: &str, reading: Reading) -> Result<Value<'_>, EvalError> {
    match reading {
        Reading::Bytes => match STANDARD.decode(text) {
            Ok(bytes) => Ok(Value::Bytes(bytes.into())),
            Err(error) => Err(EvalError::Data(format!("Invalid byte formatted string {text}: {error}"))),
        },
        Reading::Date => Instant::parse_date(text)
            .map(Value::Timestamp)
            .ok_or_else(|| EvalError::Data(format!("Invalid date formatted string {text}"))),
        Reading::DateTime => Instant::parse(text, true)
            .map(Value::Timestamp)
            .ok_or_else(|| EvalError::Data(format!("Invalid date-time formatted string {text}"))),
        Reading::Duration => time::parse_schema_duration(text)
            .map(Value::Duration)
            .ok_or_else(|| EvalError::Data(format!("Invalid duration {text}"))),
        Reading::Plain | Reading::Double | Reading::IntOrString => Ok(Value::String(Text::Borrowed(text))),
    }
}

/// What upstream's messages call the type of a JSON value.
fn go_type(json: &Json) -> &'static str {
    match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

pub(crate) fn write(value: &Value<'_>) -> Result<Json, EvalError> {
    Ok(match value {
        Value::Null | Value::Optional(None) => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(number) => Json::from(*number),
        Value::Uint(number) => Json::from(*number),
        Value::Double(number) => Number::from_f64(*number).map(Json::Number).ok_or_else(|| no_form(value))?,
        Value::String(text) => Json::from(&**text),
        Value::Bytes(bytes) => Json::from(STANDARD.encode(bytes)),
        Value::Timestamp(time) => Json::from(time.to_string()),
        Value::Duration(nanos) => Json::from(time::format_duration(*nanos)),
        Value::List(List::Json(items, None)) => Json::Array(items.to_vec()),
        Value::List(list) => {
            let items = (0..list.len()).map(|index| write(&list.get(index)?));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(Map::Json(entries, _)) => Json::Object((*entries).clone()),
        Value::Map(map) => {
            let mut entries = serde_json::Map::new();
            for key in map.keys() {
                let name = match &key {
                    Value::String(text) => text.to_string(),
                    Value::Int(number) => number.to_string(),
                    Value::Uint(number) => number.to_string(),
                    Value::Bool(truth) => truth.to_string(),
                    _ => return Err(no_form(&key)),
                };
                if let Some(found) = map.get(&key)? {
                    entries.insert(name, write(&found)?);
                }
            }
            Json::Object(entries)
        }
        Value::Optional(Some(inner)) => write(inner)?,
        Value::Opaque(opaque) => opaque.to_json().ok_or_else(|| no_form(value))?,
        Value::Type(_) => return Err(no_form(value)),
    })
}

fn no_form(value: &Value<'_>) -> EvalError {
    EvalError::function(format!(
        "type conversion error from '{}' to 'google.protobuf.Value'",
        value.type_name()
    ))
}
