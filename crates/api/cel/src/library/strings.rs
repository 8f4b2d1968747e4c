//! Strings: the standard predicates and the extensions. Places count characters, not bytes.

use super::{Fun, first, lists, room_for, second};
use crate::error::EvalError;
use crate::value::{Text, Value};

pub(crate) const SIGNATURES: &str = "
contains contains_string string.(string) bool
endsWith ends_with_string string.(string) bool
startsWith starts_with_string string.(string) bool
charAt string_char_at_int string.(int) string
indexOf string_index_of_string string.(string) int
indexOf string_index_of_string_int string.(string,int) int
lastIndexOf string_last_index_of_string string.(string) int
lastIndexOf string_last_index_of_string_int string.(string,int) int
lowerAscii string_lower_ascii string.() string
upperAscii string_upper_ascii string.() string
replace string_replace_string_string string.(string,string) string
replace string_replace_string_string_int string.(string,string,int) string
split string_split_string string.(string) list(string)
split string_split_string_int string.(string,int) list(string)
substring string_substring_int string.(int) string
substring string_substring_int_int string.(int,int) string
trim string_trim string.() string
join list_join list(string).() string
join list_join_string list(string).(string) string
strings.quote strings_quote (string) string
jsonpatch.escapeKey string_jsonpatch_escapeKey_string (string) string
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("contains", |args| both(args, |text, part| text.contains(part))),
    ("endsWith", |args| both(args, |text, part| text.ends_with(part))),
    ("startsWith", |args| both(args, |text, part| text.starts_with(part))),
    ("charAt", |args| match args {
        [Value::String(text), Value::Int(at)] => {
            let length = text.chars().count() as i64;
            match usize::try_from(*at).ok().and_then(|at| text.chars().nth(at)) {
                Some(found) => Ok(Value::shared(found.to_string())),
                None if *at == length => Ok(Value::text("")),
                None => Err(out_of_range(*at)),
            }
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("indexOf", |args| match args {
        [Value::String(text), Value::String(part)] => index_of(text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(from)] => index_of(text, part, *from),
        [Value::List(list), item] => lists::index_of(list, item),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("lastIndexOf", |args| match args {
        [Value::String(text), Value::String(part)] => last_index_of(text, part, None),
        [Value::String(text), Value::String(part), Value::Int(from)] => {
            last_index_of(text, part, Some(*from))
        }
        [Value::List(list), item] => lists::last_index_of(list, item),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("lowerAscii", |args| changed(args, |text| text.to_ascii_lowercase())),
    ("upperAscii", |args| changed(args, |text| text.to_ascii_uppercase())),
    ("trim", |args| match first(args)? {
        Value::String(Text::Borrowed(text)) => Ok(Value::text(text.trim())),
        Value::String(text) => Ok(Value::shared(text.trim())),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("replace", |args| match args {
        [Value::String(text), Value::String(old), Value::String(new)] => replaced(text, old, new, usize::MAX),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(limit)] => {
            replaced(text, old, new, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("split", |args| match args {
        [Value::String(text), Value::String(mark)] => Ok(split(text, mark, -1)),
        [Value::String(text), Value::String(mark), Value::Int(limit)] => Ok(split(text, mark, *limit)),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("substring", |args| match args {
        [Value::String(text), Value::Int(start)] => {
            let end = text.chars().count() as i64;
            if (0..=end).contains(start) { substring(text, *start, end) } else { Err(out_of_range(*start)) }
        }
        [Value::String(text), Value::Int(start), Value::Int(end)] => {
            let length = text.chars().count() as i64;
            if start > end {
                return Err(EvalError::function(format!(
                    "invalid substring range. start: {start}, end: {end}"
                )));
            }
            match [*start, *end].into_iter().find(|place| !(0..=length).contains(place)) {
                Some(place) => Err(out_of_range(place)),
                None => substring(text, *start, *end),
            }
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("join", |args| {
        let Value::List(list) = first(args)? else { return Err(EvalError::NoSuchOverload) };
        let mark = match args.get(1) {
            None => "",
            Some(Value::String(mark)) => mark,
            Some(_) => return Err(EvalError::NoSuchOverload),
        };
        let mut joined = String::new();
        for (place, item) in list.iter().enumerate() {
            let Value::String(text) = item? else { return Err(EvalError::NoSuchOverload) };
            room_for(joined.len().saturating_add(mark.len()).saturating_add(text.len()))?;
            if place > 0 {
                joined.push_str(mark);
            }
            joined.push_str(&text);
        }
        Ok(Value::shared(joined))
    }),
    ("strings.quote", |args| match first(args)? {
        Value::String(text) => Ok(Value::shared(quote(text))),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("jsonpatch.escapeKey", |args| changed(args, |text| text.replace('~', "~0").replace('/', "~1"))),
];

fn replaced<'a>(text: &str, old: &str, new: &str, most: usize) -> Result<Value<'a>, EvalError> {
    // Without a limit there are at most as many matches as fit, and an empty text matches once more.
    let matches = if new.len() <= old.len() { 0 } else { text.matches(old).take(most).count() };
    room_for(text.len().saturating_add(matches.saturating_mul(new.len())))?;
    Ok(Value::shared(text.replacen(old, new, most)))
}

fn both<'a>(args: &[Value<'a>], holds: fn(&str, &str) -> bool) -> Result<Value<'a>, EvalError> {
    match (first(args)?, second(args)?) {
        (Value::String(text), Value::String(part)) => Ok(Value::Bool(holds(text, part))),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn changed<'a>(args: &[Value<'a>], change: fn(&str) -> String) -> Result<Value<'a>, EvalError> {
    match first(args)? {
        Value::String(text) => Ok(Value::shared(change(text))),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn out_of_range(place: i64) -> EvalError {
    EvalError::function(format!("index out of range: {place}"))
}

/// The byte at which a character begins.
fn byte_at(text: &str, place: i64) -> usize {
    let place = usize::try_from(place).unwrap_or(0);
    text.char_indices().nth(place).map_or(text.len(), |(byte, _)| byte)
}

fn chars_before(text: &str, byte: usize) -> i64 {
    text[..byte].chars().count() as i64
}

fn index_of<'a>(text: &str, part: &str, from: i64) -> Result<Value<'a>, EvalError> {
    if from < 0 {
        return Err(out_of_range(from));
    }
    if from > text.chars().count() as i64 {
        return Ok(Value::Int(-1));
    }
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    let start = byte_at(text, from);
    Ok(Value::Int(text[start..].find(part).map_or(-1, |found| chars_before(text, start + found))))
}

fn last_index_of<'a>(text: &str, part: &str, from: Option<i64>) -> Result<Value<'a>, EvalError> {
    let length = text.chars().count() as i64;
    let from = from.unwrap_or(length);
    if from < 0 {
        return Err(out_of_range(from));
    }
    if from > length {
        return Ok(Value::Int(-1));
    }
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    // A match may begin at `from` at the latest.
    let last = byte_at(text, from);
    let end = (last + part.len()).min(text.len());
    let searched = (end..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    let found = text[..searched].rfind(part).filter(|found| *found <= last);
    Ok(Value::Int(found.map_or(-1, |found| chars_before(text, found))))
}

fn substring<'a>(text: &str, start: i64, end: i64) -> Result<Value<'a>, EvalError> {
    Ok(Value::shared(&text[byte_at(text, start)..byte_at(text, end)]))
}

/// At most `limit` parts, the last one with the rest; no limit if negative.
fn split<'a>(text: &str, mark: &str, limit: i64) -> Value<'a> {
    let limit = match limit {
        0 => return Value::list(Vec::new()),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    if !mark.is_empty() {
        return Value::list(text.splitn(limit, mark).map(Value::shared).collect());
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if parts.len() + 1 == limit {
            parts.push(Value::shared(rest));
            break;
        }
        parts.push(Value::shared(next.to_string()));
        rest = &rest[next.len_utf8()..];
    }
    Value::list(parts)
}

/// A text that reads back as a literal.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for next in text.chars() {
        match next {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
