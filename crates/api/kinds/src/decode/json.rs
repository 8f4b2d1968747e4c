//! JSON with an eye for keys that come twice. Nesting is bounded by the parser (128 levels), so that no body can exhaust the stack.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::{DecodeError, Decoded};

pub(super) fn read(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let Decoded { value, duplicates } = read_any(bytes)?;
    let value = match value {
        // Go reads null into any struct and leaves it empty.
        Value::Null => Value::Object(Map::new()),
        other => other,
    };
    let Value::Object(map) = &value else {
        let wanted = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        let found = type_of(&value);
        return Err(DecodeError::Json(format!(
            "json: cannot unmarshal {found} into Go value of type {wanted}"
        )));
    };
    for field in ["apiVersion", "kind"] {
        if let Some(found) = map.get(field).filter(|found| !found.is_string() && !found.is_null()) {
            let found = type_of(found);
            let message =
                format!("json: cannot unmarshal {found} into Go struct field .{field} of type string");
            return Err(DecodeError::Json(message));
        }
    }
    Ok(Decoded { value, duplicates })
}

/// Reads what need be no object.
pub(super) fn read_any(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut seen = Seen { duplicates: Vec::new(), order: None };
    let value = run(bytes, &mut seen).map_err(|error| DecodeError::Json(in_gos_words(&error, bytes)))?;
    Ok(Decoded { value, duplicates: seen.duplicates })
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Object(_) => "object",
        Value::Null => "null",
    }
}

/// Sorts issues by where their fields first stand in the document.
pub(super) fn sort_by_place(bytes: &[u8], issues: &mut [String]) {
    let mut seen = Seen { duplicates: Vec::new(), order: Some(Vec::new()) };
    if run(bytes, &mut seen).is_err() {
        return;
    }
    let order = seen.order.unwrap_or_default();
    issues.sort_by_key(|issue| {
        let path = issue.split('"').nth(1).unwrap_or_default();
        // A duplicate is found where the field stands the second time.
        let nth = usize::from(issue.starts_with("duplicate"));
        order.iter().enumerate().filter(|(_, known)| *known == path).nth(nth).map_or(usize::MAX, |(at, _)| at)
    });
}

fn run(bytes: &[u8], seen: &mut Seen) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Seed { seen, path: &Path::Root }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

struct Seen {
    duplicates: Vec<String>,
    /// The paths of all fields in document order, if somebody needs them.
    order: Option<Vec<String>>,
}

enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(Path::Root, key) => f.write_str(key),
            Path::Key(parent, key) => write!(f, "{parent}.{key}"),
            Path::Item(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

struct Seed<'a> {
    seen: &'a mut Seen,
    path: &'a Path<'a>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = Path::Item(self.path, list.len());
            match items.next_element_seed(Seed { seen: &mut *self.seen, path: &path })? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = Path::Key(self.path, &key);
            if let Some(order) = &mut self.seen.order {
                order.push(path.to_string());
            }
            let value = entries.next_value_seed(Seed { seen: &mut *self.seen, path: &path })?;
            match map.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(mut place) => {
                    let issue = format!("duplicate field \"{}\"", Path::Key(self.path, place.key()));
                    if !self.seen.duplicates.contains(&issue) {
                        self.seen.duplicates.push(issue);
                    }
                    place.insert(value);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// Clients print these messages, and people search for them.
fn in_gos_words(error: &serde_json::Error, bytes: &[u8]) -> String {
    if error.classify() == Category::Eof {
        return "unexpected end of JSON input".into();
    }
    let told = error.to_string();
    let place = if told.starts_with("trailing characters") {
        "after top-level value"
    } else if told.starts_with("expected value") {
        "looking for beginning of value"
    } else if told.starts_with("key must be a string") || told.starts_with("trailing comma") {
        "looking for beginning of object key string"
    } else if told.starts_with("expected `:`") {
        "after object key"
    } else if told.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if told.starts_with("expected `,` or `]`") {
        "after array element"
    } else if told.starts_with("control character") {
        "in string literal"
    } else if told.starts_with("invalid escape") {
        "in string escape code"
    } else if told.starts_with("recursion limit") {
        return "exceeded max depth".into();
    } else {
        return told;
    };
    let line_start: usize = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let at = line_start + error.column().saturating_sub(1);
    let found = bytes.get(at).copied().unwrap_or_default();
    format!("invalid character '{}' {place}", found.escape_ascii())
}
