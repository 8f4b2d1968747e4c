//! Conversions between types: `int("1")`, `string(1)`, `type(x)`, `dyn(x)`.

use super::{Fun, first, time};
use crate::error::EvalError;
use crate::value::{Instant, Opaque, Text, Value};

pub(crate) const SIGNATURES: &str = "
type type (A) type(A)
dyn to_dyn (A) dyn
bool bool_to_bool (bool) bool
bool string_to_bool (string) bool
bytes bytes_to_bytes (bytes) bytes
bytes string_to_bytes (string) bytes
double double_to_double (double) double
double int64_to_double (int) double
double string_to_double (string) double
double uint64_to_double (uint) double
duration duration_to_duration (duration) duration
duration int64_to_duration (int) duration
duration string_to_duration (string) duration
int int64_to_int64 (int) int
int double_to_int64 (double) int
int duration_to_int64 (duration) int
int string_to_int64 (string) int
int timestamp_to_int64 (timestamp) int
int uint64_to_int64 (uint) int
string string_to_string (string) string
string bool_to_string (bool) string
string bytes_to_string (bytes) string
string double_to_string (double) string
string duration_to_string (duration) string
string int64_to_string (int) string
string timestamp_to_string (timestamp) string
string uint64_to_string (uint) string
string ip_to_string (ip) string
string cidr_to_string (cidr) string
timestamp timestamp_to_timestamp (timestamp) timestamp
timestamp int64_to_timestamp (int) timestamp
timestamp string_to_timestamp (string) timestamp
uint uint64_to_uint64 (uint) uint
uint double_to_uint64 (double) uint
uint int64_to_uint64 (int) uint
uint string_to_uint64 (string) uint
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("type", |args| {
        let value = first(args)?;
        Ok(Value::Type(Text::Shared(value.type_name().into())))
    }),
    ("dyn", |args| first(args).cloned()),
    ("bool", |args| match first(args)? {
        Value::Bool(truth) => Ok(Value::Bool(*truth)),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(cannot(first(args)?, "bool")),
        },
        other => Err(cannot(other, "bool")),
    }),
    ("bytes", |args| match first(args)? {
        Value::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        Value::String(text) => Ok(Value::Bytes(text.as_bytes().into())),
        other => Err(cannot(other, "bytes")),
    }),
    ("double", |args| match first(args)? {
        Value::Double(number) => Ok(Value::Double(*number)),
        Value::Int(number) => Ok(Value::Double(*number as f64)),
        Value::Uint(number) => Ok(Value::Double(*number as f64)),
        Value::String(text) => match parse_double(text) {
            Some(number) => Ok(Value::Double(number)),
            None => Err(cannot(first(args)?, "double")),
        },
        other => Err(cannot(other, "double")),
    }),
    ("duration", |args| match first(args)? {
        Value::Duration(nanos) => Ok(Value::Duration(*nanos)),
        Value::Int(nanos) => Ok(Value::Duration(*nanos)),
        value @ Value::String(text) => time::parse_duration(text)
            .map(Value::Duration)
            .ok_or_else(|| cannot(value, "google.protobuf.Duration")),
        other => Err(cannot(other, "google.protobuf.Duration")),
    }),
    ("timestamp", |args| match first(args)? {
        Value::Timestamp(time) => Ok(Value::Timestamp(*time)),
        Value::Int(seconds) => time::from_seconds(*seconds),
        value @ Value::String(text) => Instant::parse(text, false)
            .map(Value::Timestamp)
            .ok_or_else(|| cannot(value, "google.protobuf.Timestamp")),
        other => Err(cannot(other, "google.protobuf.Timestamp")),
    }),
    ("int", |args| match first(args)? {
        Value::Int(number) => Ok(Value::Int(*number)),
        Value::Uint(number) => {
            i64::try_from(*number).map(Value::Int).map_err(|_| EvalError::Overflow("integer"))
        }
        Value::Double(number)
            if *number > -9.223_372_036_854_775e18 && *number < 9.223_372_036_854_775e18 =>
        {
            Ok(Value::Int(*number as i64))
        }
        Value::Double(_) => Err(EvalError::Overflow("integer")),
        Value::Duration(nanos) => Ok(Value::Int(*nanos)),
        Value::Timestamp(time) => Ok(Value::Int(time.seconds())),
        value @ Value::String(text) => text.parse().map(Value::Int).map_err(|_| cannot(value, "int")),
        other => Err(cannot(other, "int")),
    }),
    ("uint", |args| match first(args)? {
        Value::Uint(number) => Ok(Value::Uint(*number)),
        Value::Int(number) => {
            u64::try_from(*number).map(Value::Uint).map_err(|_| EvalError::Overflow("unsigned integer"))
        }
        Value::Double(number) if *number >= 0.0 && *number < 1.844_674_407_370_955e19 => {
            Ok(Value::Uint(*number as u64))
        }
        Value::Double(_) => Err(EvalError::Overflow("unsigned integer")),
        value @ Value::String(text) => text.parse().map(Value::Uint).map_err(|_| cannot(value, "uint")),
        other => Err(cannot(other, "uint")),
    }),
    ("string", |args| match first(args)? {
        value @ Value::String(_) => Ok(value.clone()),
        Value::Bool(truth) => Ok(Value::String(Text::Borrowed(if *truth { "true" } else { "false" }))),
        Value::Int(number) => Ok(Value::shared(number.to_string())),
        Value::Uint(number) => Ok(Value::shared(number.to_string())),
        Value::Double(number) => Ok(Value::shared(double_text(*number))),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::shared(text)),
            Err(_) => Err(EvalError::function("invalid UTF-8 in bytes, cannot convert to string")),
        },
        Value::Timestamp(at) => Ok(Value::shared(at.to_string())),
        Value::Duration(nanos) => Ok(Value::shared(time::format_duration(*nanos))),
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Ip(address) => Ok(Value::shared(address.to_string())),
            Opaque::Cidr(address, length) => Ok(Value::shared(format!("{address}/{length}"))),
            _ => Err(EvalError::NoSuchOverload),
        },
        other => Err(cannot(other, "string")),
    }),
];

fn cannot(value: &Value<'_>, to: &str) -> EvalError {
    match value {
        Value::String(_) => EvalError::function(format!("type conversion error from 'string' to '{to}'")),
        _ => EvalError::NoSuchOverload,
    }
}

/// What Go's `ParseFloat` reads, without its hexadecimal and underscore forms.
fn parse_double(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().trim_start_matches(['+', '-']) {
        "inf" | "infinity" | "nan" => text.parse().ok(),
        digits if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') => text.parse().ok(),
        _ => None,
    }
}

/// As Go's `%g` with the fewest digits that read back the same.
pub(crate) fn double_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) {
        let text = format!("{number:e}");
        let Some((digits, exponent)) = text.split_once('e') else { return text };
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{number}")
}
