//! The functions that templates call, each with what Go's own would answer or complain of.

use std::borrow::Cow;
use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::format::{plain, printed, printf};
use super::value::Val;

const KNOWN: [&str; 20] = [
    "and",
    "base64decode",
    "eq",
    "exists",
    "ge",
    "gt",
    "html",
    "index",
    "js",
    "le",
    "len",
    "lt",
    "ne",
    "not",
    "or",
    "print",
    "printf",
    "println",
    "slice",
    "urlquery",
];

pub(super) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

pub(super) fn call<'v>(name: &str, given: Vec<Val<'v>>) -> Result<Val<'v>, String> {
    let amount = |least: usize, most: usize| match (least..=most).contains(&given.len()) {
        true => Ok(()),
        false => Err(format!("wrong number of args for {name}: want {least} got {}", given.len())),
    };
    match name {
        "print" => return Ok(Val::text(printed(&given))),
        "println" => return Ok(Val::text(given.iter().map(plain).collect::<Vec<_>>().join(" ") + "\n")),
        "html" => return Ok(Val::text(html(&printed(&given)))),
        "js" => return Ok(Val::text(js(&printed(&given)))),
        "urlquery" => {
            return Ok(Val::text(form_urlencoded::byte_serialize(printed(&given).as_bytes()).collect()));
        }
        "not" | "len" | "base64decode" => amount(1, 1)?,
        "ne" | "lt" | "le" | "gt" | "ge" => amount(2, 2)?,
        "slice" => amount(1, 4)?,
        _ => amount(1, usize::MAX)?,
    }
    let Some((first, rest)) = given.split_first() else { return Ok(Val::None) };
    let second = rest.first().unwrap_or(&Val::None);
    Ok(match name {
        "not" => Val::Bool(!first.holds()),
        "len" => Val::Int(i64::try_from(length(first)?).unwrap_or(i64::MAX)),
        "eq" if rest.is_empty() => return Err("missing argument for comparison".to_owned()),
        "eq" => {
            let mut any = false;
            for other in rest {
                any = any || equal(first, other)?;
            }
            Val::Bool(any)
        }
        "ne" => Val::Bool(!equal(first, second)?),
        "lt" => Val::Bool(order(first, second)?.is_lt()),
        "le" => Val::Bool(order(first, second)?.is_le()),
        "gt" => Val::Bool(order(first, second)?.is_gt()),
        "ge" => Val::Bool(order(first, second)?.is_ge()),
        "index" => index(first.clone(), rest)?,
        "slice" => slice(first, rest)?,
        "exists" => Val::Bool(rest.iter().try_fold(first.clone(), within).is_some()),
        "printf" => match first {
            Val::Text(form) => Val::text(printf(form, rest)),
            other => return Err(format!("wrong type for value; expected string; got {}", other.type_name())),
        },
        "base64decode" => match first {
            Val::Text(text) => {
                let bytes = STANDARD.decode(text.as_bytes());
                let bytes = bytes.map_err(|error| format!("base64 decode failed: {error}"))?;
                Val::text(String::from_utf8_lossy(&bytes).into_owned())
            }
            other => return Err(format!("wrong type for value; expected string; got {}", other.type_name())),
        },
        other => return Err(format!("{other} has nothing to call")),
    })
}

fn length(value: &Val<'_>) -> Result<usize, String> {
    match value {
        Val::Text(text) => Ok(text.len()),
        Val::List(list) => Ok(list.len()),
        Val::Map(map) => Ok(map.len()),
        Val::None => Err("len of nil pointer".to_owned()),
        other => Err(format!("len of type {}", other.type_name())),
    }
}

fn equal(one: &Val<'_>, other: &Val<'_>) -> Result<bool, String> {
    match (one, other) {
        (Val::List(_) | Val::Map(_), _) | (_, Val::List(_) | Val::Map(_)) => {
            match matches!(one, Val::None) || matches!(other, Val::None) {
                true => Ok(false),
                false => Err("incompatible types for comparison".to_owned()),
            }
        }
        (Val::None, Val::None) => Ok(true),
        (Val::None, _) | (_, Val::None) => Ok(false),
        (Val::Bool(one), Val::Bool(other)) => Ok(one == other),
        _ => order(one, other).map(Ordering::is_eq),
    }
}

fn order(one: &Val<'_>, other: &Val<'_>) -> Result<Ordering, String> {
    let basic = |value: &Val<'_>| {
        matches!(value, Val::Bool(_) | Val::Int(_) | Val::Long(_) | Val::Float(_) | Val::Text(_))
    };
    if let (Some(one), Some(other)) = (one.whole(), other.whole()) {
        return Ok(one.cmp(&other));
    }
    match (one, other) {
        (Val::Float(one), Val::Float(other)) => Ok(one.partial_cmp(other).unwrap_or(Ordering::Less)),
        (Val::Text(one), Val::Text(other)) => Ok(one.cmp(other)),
        (Val::Bool(_), Val::Bool(_)) => Err("invalid type for comparison".to_owned()),
        _ if basic(one) && basic(other) => Err("incompatible types for comparison".to_owned()),
        _ => Err("invalid type for comparison".to_owned()),
    }
}

fn index<'v>(item: Val<'v>, places: &[Val<'v>]) -> Result<Val<'v>, String> {
    let mut item = item;
    for (turn, place) in places.iter().enumerate() {
        item = match (&item, place) {
            (Val::None, _) if turn == 0 => return Err("index of untyped nil".to_owned()),
            (Val::None, _) => return Err("index of nil pointer".to_owned()),
            (Val::Map(map), Val::Text(key)) => map.get(&**key).map_or(Val::None, Val::of),
            (Val::Map(_), other) => {
                return Err(format!("value has type {}; should be string", other.type_name()));
            }
            (Val::List(list), place) => match list.get(position(place, list.len())?) {
                Some(found) => Val::of(found),
                None => return Err(format!("index out of range: {}", plain(place))),
            },
            (Val::Text(text), place) => match text.as_bytes().get(position(place, text.len())?) {
                Some(byte) => Val::Int(i64::from(*byte)),
                None => return Err(format!("index out of range: {}", plain(place))),
            },
            (other, _) => return Err(format!("can't index item of type {}", other.type_name())),
        };
    }
    Ok(item)
}

fn position(place: &Val<'_>, length: usize) -> Result<usize, String> {
    match place {
        Val::Int(number) | Val::Long(number) => match usize::try_from(*number) {
            Ok(number) if number <= length => Ok(number),
            _ => Err(format!("index out of range: {number}")),
        },
        Val::None => Err("cannot index slice/array with nil".to_owned()),
        other => Err(format!("cannot index slice/array with type {}", other.type_name())),
    }
}

fn slice<'v>(item: &Val<'v>, places: &[Val<'v>]) -> Result<Val<'v>, String> {
    let whole = length(item)?;
    let mut ends = [0, whole];
    for (end, place) in ends.iter_mut().zip(places) {
        *end = position(place, whole)?;
    }
    let [from, to] = ends;
    let wrong = || format!("invalid slice index: {from} > {to}");
    Ok(match item {
        Val::List(list) => Val::List(list.get(from..to).ok_or_else(wrong)?),
        Val::Text(Cow::Borrowed(text)) => Val::Text(Cow::Borrowed(text.get(from..to).ok_or_else(wrong)?)),
        Val::Text(Cow::Owned(text)) => Val::text(text.get(from..to).ok_or_else(wrong)?.to_owned()),
        other => return Err(format!("can't slice item of type {}", other.type_name())),
    })
}

/// One step of `exists`.
fn within<'v>(item: Val<'v>, place: &Val<'v>) -> Option<Val<'v>> {
    match (item, place) {
        (Val::Map(map), Val::Text(key)) => map.get(&**key).map(Val::of),
        (Val::List(list), Val::Int(at) | Val::Long(at)) => list.get(usize::try_from(*at).ok()?).map(Val::of),
        _ => None,
    }
}

fn html(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\0' => out.push('\u{fffd}'),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

fn js(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' | '\'' | '"' => out.extend(['\\', letter]),
            '<' | '>' | '&' | '=' | '\0'..='\x1f' => out.push_str(&format!("\\u{:04X}", u32::from(letter))),
            other => out.push(other),
        }
    }
    out
}
