//! `"%s is %d".format([a, b])`.

use super::strings::quote;
use super::{Fun, convert, time};
use crate::error::EvalError;
use crate::value::{List, Map, Value};

pub(crate) const SIGNATURES: &str = "
format string_format string.(list(dyn)) string
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[("format", |args| match args {
    [Value::String(pattern), Value::List(list)] => format(pattern, list).map(Value::shared),
    _ => Err(EvalError::NoSuchOverload),
})];

const DEFAULT_PRECISION: usize = 6;
const MAX_PRECISION: usize = 1_000;

fn format(pattern: &str, list: &List<'_>) -> Result<String, EvalError> {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut place = 0;
    while let Some(next) = chars.next() {
        if next != '%' {
            out.push(next);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let precision = precision(&mut chars)?;
        let Some(verb) = chars.next() else { return Err(bad("unexpected end of string")) };
        if place >= list.len() {
            return Err(bad(&format!("index {place} out of range")));
        }
        out.push_str(&one(verb, precision, &list.get(place)?)?);
        place += 1;
    }
    Ok(out)
}

fn bad(why: &str) -> EvalError {
    EvalError::function(why)
}

fn precision(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<usize>, EvalError> {
    if chars.peek() != Some(&'.') {
        return Ok(None);
    }
    chars.next();
    let mut digits = String::new();
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    match digits.parse() {
        Ok(precision) if precision <= MAX_PRECISION => Ok(Some(precision)),
        _ => Err(bad(&format!(
            "error while converting precision to integer: strconv.Atoi: parsing {digits:?}: invalid syntax"
        ))),
    }
}

fn one(verb: char, precision: Option<usize>, value: &Value<'_>) -> Result<String, EvalError> {
    let refuse =
        |what: &str| Err(bad(&format!("error during formatting: {what}, was given {}", value.type_name())));
    let places = precision.unwrap_or(DEFAULT_PRECISION);
    match (verb, value) {
        ('s', _) => plain(value),
        ('d', Value::Int(number)) => Ok(number.to_string()),
        ('d', Value::Uint(number)) => Ok(number.to_string()),
        ('d', _) => refuse("decimal clause can only be used on integers"),
        ('f', _) => match number(value) {
            Some(number) if number.is_finite() => Ok(format!("{number:.places$}")),
            Some(number) => Ok(special(number)),
            None => refuse("fixed-point clause can only be used on doubles"),
        },
        ('e', _) => match number(value) {
            Some(number) if number.is_finite() => Ok(scientific(number, places)),
            Some(number) => Ok(special(number)),
            None => refuse("scientific clause can only be used on doubles"),
        },
        ('b', Value::Int(number)) => Ok(signed(*number, |magnitude| format!("{magnitude:b}"))),
        ('b', Value::Uint(number)) => Ok(format!("{number:b}")),
        ('b', Value::Bool(truth)) => Ok(u8::from(*truth).to_string()),
        ('b', _) => refuse("only integers and bools can be formatted as binary"),
        ('x', Value::Int(number)) => Ok(signed(*number, |magnitude| format!("{magnitude:x}"))),
        ('X', Value::Int(number)) => Ok(signed(*number, |magnitude| format!("{magnitude:X}"))),
        ('x', Value::Uint(number)) => Ok(format!("{number:x}")),
        ('X', Value::Uint(number)) => Ok(format!("{number:X}")),
        ('x', Value::String(text)) => Ok(text.bytes().map(|byte| format!("{byte:02x}")).collect()),
        ('X', Value::String(text)) => Ok(text.bytes().map(|byte| format!("{byte:02X}")).collect()),
        ('x', Value::Bytes(bytes)) => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        ('X', Value::Bytes(bytes)) => Ok(bytes.iter().map(|byte| format!("{byte:02X}")).collect()),
        ('x' | 'X', _) => refuse("only integers, byte buffers, and strings can be formatted as hex"),
        ('o', Value::Int(number)) => Ok(signed(*number, |magnitude| format!("{magnitude:o}"))),
        ('o', Value::Uint(number)) => Ok(format!("{number:o}")),
        ('o', _) => refuse("octal clause can only be used on integers"),
        (other, _) => Err(bad(&format!(
            "could not parse formatting clause: unrecognized formatting clause {:?}",
            other.to_string()
        ))),
    }
}

fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn special(number: f64) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number > 0.0 {
        "∞".into()
    } else {
        "-∞".into()
    }
}

fn scientific(number: f64, places: usize) -> String {
    let text = format!("{number:.places$e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

fn signed(number: i64, digits: impl Fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", digits(number.unsigned_abs()))
}

fn plain(value: &Value<'_>) -> Result<String, EvalError> {
    match value {
        Value::String(text) | Value::Type(text) => Ok(text.to_string()),
        Value::Null => Ok("null".into()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Int(number) => Ok(number.to_string()),
        Value::Uint(number) => Ok(number.to_string()),
        Value::Double(number) => Ok(convert::double_text(*number)),
        Value::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Value::Timestamp(at) => Ok(time::format_timestamp(at)),
        Value::Duration(nanos) => Ok(time::format_duration(*nanos)),
        Value::List(list) => list_text(list),
        Value::Map(map) => map_text(map),
        other => Err(bad(&format!(
            "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given {}",
            other.type_name()
        ))),
    }
}

/// As a literal, inside of a list or map.
fn nested(value: &Value<'_>) -> Result<String, EvalError> {
    match value {
        Value::String(text) => Ok(quote(text)),
        Value::Bytes(bytes) => Ok(format!("b{}", quote(&String::from_utf8_lossy(bytes)))),
        Value::Double(number) if number.is_finite() => Ok(format!("{number:.DEFAULT_PRECISION$}")),
        Value::Double(number) => Ok(quote(&convert::double_text(*number))),
        Value::Timestamp(_) => Ok(format!("timestamp({})", quote(&plain(value)?))),
        Value::Duration(_) => Ok(format!("duration({})", quote(&plain(value)?))),
        other => plain(other),
    }
}

fn list_text(list: &List<'_>) -> Result<String, EvalError> {
    let items = list.iter().map(|item| nested(&item?)).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[{}]", items.join(", ")))
}

fn map_text(map: &Map<'_>) -> Result<String, EvalError> {
    let mut entries = Vec::new();
    for key in map.keys() {
        if let Some(value) = map.get(&key)? {
            entries.push((nested(&key)?, nested(&value)?));
        }
    }
    entries.sort();
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}
