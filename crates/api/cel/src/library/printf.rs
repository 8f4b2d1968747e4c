//! `"%s is %d".format([a, b])`.

use super::strings::quote;
use super::{Fun, convert, room_for, time};
use crate::error::EvalError;
use crate::types::Type;
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

/// A piece of a pattern: text to copy, or a clause for the next argument.
enum Piece {
    Text(String),
    Clause(char, Option<usize>),
}

fn pieces(pattern: &str) -> Result<Vec<Piece>, EvalError> {
    let mut found = Vec::new();
    let mut text = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(next) = chars.next() {
        if next != '%' {
            text.push(next);
        } else if chars.next_if_eq(&'%').is_some() {
            text.push('%');
        } else {
            found.push(Piece::Text(std::mem::take(&mut text)));
            let precision = precision(&mut chars)?;
            let verb = chars.next().ok_or_else(|| bad("unexpected end of string"))?;
            if !"sdfebxXo".contains(verb) {
                let verb = verb.to_string();
                return Err(bad(&format!(
                    "could not parse formatting clause: unrecognized formatting clause {verb:?}"
                )));
            }
            found.push(Piece::Clause(verb, precision));
        }
    }
    found.push(Piece::Text(text));
    Ok(found)
}

/// Whether a pattern fits arguments of these types. The error says at which argument, if at one.
pub(crate) fn check(pattern: &str, types: &[&Type]) -> Result<(), (Option<usize>, String)> {
    let pieces = pieces(pattern).map_err(|error| (None, error.to_string()))?;
    let verbs = pieces.iter().filter_map(|piece| match piece {
        Piece::Clause(verb, _) => Some(*verb),
        Piece::Text(_) => None,
    });
    for (place, verb) in verbs.enumerate() {
        let Some(ty) = types.get(place) else { return Err((None, format!("index {place} out of range"))) };
        if !takes(verb, ty) {
            return Err((Some(place), refusal(verb, type_word(ty))));
        }
    }
    Ok(())
}

fn takes(verb: char, ty: &Type) -> bool {
    match ty {
        Type::Dyn | Type::Error | Type::Param(_) => true,
        Type::Int | Type::Uint => !matches!(verb, 'f' | 'e'),
        Type::Double => matches!(verb, 's' | 'f' | 'e'),
        Type::Bool => matches!(verb, 's' | 'b'),
        // Words such as Infinity stand for numbers.
        Type::String => matches!(verb, 's' | 'x' | 'X' | 'f' | 'e'),
        Type::Bytes => matches!(verb, 's' | 'x' | 'X'),
        Type::Optional(_) | Type::Object(_) | Type::Opaque(_) => false,
        Type::Null | Type::Timestamp | Type::Duration | Type::List(_) | Type::Map(..) | Type::Type(_) => {
            verb == 's'
        }
    }
}

/// A type without what it is made of.
fn type_word(ty: &Type) -> String {
    match ty {
        Type::List(_) => "list".into(),
        Type::Map(..) => "map".into(),
        Type::Optional(_) => "optional_type".into(),
        Type::Type(_) => "type".into(),
        Type::Null => "null_type".into(),
        Type::Timestamp => "google.protobuf.Timestamp".into(),
        Type::Duration => "google.protobuf.Duration".into(),
        other => other.to_string(),
    }
}

fn refusal(verb: char, given: impl std::fmt::Display) -> String {
    let what = match verb {
        's' => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        }
        'd' => "decimal clause can only be used on integers",
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'o' => "octal clause can only be used on integers",
        _ => "only integers, byte buffers, and strings can be formatted as hex",
    };
    format!("error during formatting: {what}, was given {given}")
}

fn format(pattern: &str, list: &List<'_>) -> Result<String, EvalError> {
    let mut out = String::with_capacity(pattern.len());
    let mut place = 0;
    for piece in pieces(pattern)? {
        match piece {
            Piece::Text(text) => out.push_str(&text),
            Piece::Clause(verb, precision) => {
                if place >= list.len() {
                    return Err(bad(&format!("index {place} out of range")));
                }
                out.push_str(&one(verb, precision, &list.get(place)?)?);
                room_for(out.len())?;
                place += 1;
            }
        }
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
    let places = precision.unwrap_or(DEFAULT_PRECISION);
    let text = match (verb, value) {
        ('s', _) => return plain(value),
        ('d', Value::Int(number)) => Some(number.to_string()),
        ('d', Value::Uint(number)) => Some(number.to_string()),
        ('f', _) => number(value).map(|number| match number.is_finite() {
            true => format!("{number:.places$}"),
            false => special(number),
        }),
        ('e', _) => {
            number(value).map(|number| if number.is_finite() { scientific(number) } else { special(number) })
        }
        ('b', Value::Int(number)) => Some(signed(*number, |magnitude| format!("{magnitude:b}"))),
        ('b', Value::Uint(number)) => Some(format!("{number:b}")),
        ('b', Value::Bool(truth)) => Some(u8::from(*truth).to_string()),
        ('x', Value::Int(number)) => Some(signed(*number, |magnitude| format!("{magnitude:x}"))),
        ('X', Value::Int(number)) => Some(signed(*number, |magnitude| format!("{magnitude:X}"))),
        ('x', Value::Uint(number)) => Some(format!("{number:x}")),
        ('X', Value::Uint(number)) => Some(format!("{number:X}")),
        ('x', Value::String(text)) => Some(text.bytes().map(|byte| format!("{byte:02x}")).collect()),
        ('X', Value::String(text)) => Some(text.bytes().map(|byte| format!("{byte:02X}")).collect()),
        ('x', Value::Bytes(bytes)) => Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        ('X', Value::Bytes(bytes)) => Some(bytes.iter().map(|byte| format!("{byte:02X}")).collect()),
        ('o', Value::Int(number)) => Some(signed(*number, |magnitude| format!("{magnitude:o}"))),
        ('o', Value::Uint(number)) => Some(format!("{number:o}")),
        _ => None,
    };
    text.ok_or_else(|| bad(&refusal(verb, value.type_name())))
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

/// As upstream's printer for people writes it: `1.234500×10⁰³`, always with six decimals.
fn scientific(number: f64) -> String {
    let text = format!("{number:.DEFAULT_PRECISION$e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ("⁻", exponent),
        None => ("", exponent),
    };
    let raised = format!("{exponent:0>2}")
        .chars()
        .map(|digit| match digit {
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            other => char::from_u32(0x2070 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
        })
        .collect::<String>();
    format!("{digits}×10{sign}{raised}")
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
        Value::Timestamp(at) => Ok(at.to_string()),
        Value::Duration(nanos) => Ok(time::format_duration(*nanos)),
        Value::List(list) => list_text(list),
        Value::Map(map) => map_text(map),
        other => Err(bad(&refusal('s', other.type_name()))),
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
