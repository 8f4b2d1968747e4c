//! The formats that values are held against; any other `format` in a definition says nothing. Knows no schema.

mod numbered;
mod web;

use jiff::civil::Date;
use regex::Regex;
use std::sync::LazyLock;

use crate::schema::Type;

#[derive(Debug)]
pub(crate) struct Format {
    /// As the definition spells it: messages repeat it.
    name: Box<str>,
    test: Test,
}

#[derive(Debug, Clone, Copy)]
enum Test {
    /// `int32` and its like: about numbers, any text fits.
    Number,
    Text(fn(&str) -> bool),
}

impl Format {
    /// None if the format means nothing for values of the type.
    pub(crate) fn parse(name: &str, kind: Option<Type>) -> Option<Self> {
        let test = match (kind, name) {
            (_, "") => return None,
            (None | Some(Type::String), name) => Test::Text(text_test(name)?),
            (Some(Type::Integer), "int32" | "int64") | (Some(Type::Number), "float" | "double") => {
                Test::Number
            }
            _ => return None,
        };
        Some(Self { name: name.into(), test })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn fits(&self, text: &str) -> bool {
        match self.test {
            Test::Number => true,
            Test::Text(test) => test(text),
        }
    }
}

/// Dashes in the name of a format mean nothing.
fn text_test(name: &str) -> Option<fn(&str) -> bool> {
    Some(match name.replace('-', "").as_str() {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => web::is_request_uri,
        "email" => web::is_email,
        "hostname" => web::is_hostname,
        "ipv4" => web::is_ipv4,
        "ipv6" => web::is_ipv6,
        "cidr" => web::is_cidr,
        "mac" => web::is_mac,
        "uuid" => |text| is_uuid(text, None),
        "uuid3" => |text| is_uuid(text, Some(b'3')),
        "uuid4" => |text| is_uuid(text, Some(b'4')),
        "uuid5" => |text| is_uuid(text, Some(b'5')),
        "isbn" => |text| numbered::is_isbn10(text) || numbered::is_isbn13(text),
        "isbn10" => numbered::is_isbn10,
        "isbn13" => numbered::is_isbn13,
        "creditcard" => numbered::is_credit_card,
        "ssn" => numbered::is_ssn,
        "hexcolor" => is_hex_colour,
        "rgbcolor" => is_rgb_colour,
        "byte" => is_base64,
        "password" => |_| true,
        "date" => is_date,
        "duration" => is_duration,
        "datetime" => is_date_time,
        "k8sshortname" => |text| text.len() <= 63 && is_name_part(text),
        "k8slongname" => |text| text.len() <= 253 && text.split('.').all(is_name_part),
        _ => return None,
    })
}

fn is_name_part(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&byte| plain(byte))
        && bytes.last().is_some_and(|&byte| plain(byte))
        && bytes.iter().all(|&byte| plain(byte) || byte == b'-')
}

/// The dashes may be left out, each by itself.
fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let (mut digits, mut rest) = (Vec::with_capacity(32), text.bytes().peekable());
    for group in [8, 4, 4, 4, 12] {
        if !digits.is_empty() {
            rest.next_if_eq(&b'-');
        }
        for _ in 0..group {
            match rest.next() {
                Some(byte) if byte.is_ascii_hexdigit() => digits.push(byte.to_ascii_lowercase()),
                _ => return false,
            }
        }
    }
    let variant = matches!(digits.get(16), Some(b'8' | b'9' | b'a' | b'b'));
    rest.next().is_none()
        && version.is_none_or(|version| digits.get(12) == Some(&version) && (version == b'3' || variant))
}

fn is_hex_colour(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_rgb_colour(text: &str) -> bool {
    let inner = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
    let part = |part: &str| {
        let part = part.trim_matches([' ', '\t', '\n', '\r', '\x0c']);
        let plain = part == "0" || !part.starts_with('0');
        plain && part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u8>().is_ok()
    };
    inner.is_some_and(|inner| inner.split(',').count() == 3 && inner.split(',').all(part))
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && Date::strptime("%Y-%m-%d", text).is_ok()
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time)
}

/// `15:04:05.999z` or with an offset. What stands before the fraction may be any character, upstream included.
fn is_time(text: &str) -> bool {
    let two = |at: usize, most: &str| {
        let found = text.get(at..at + 2).unwrap_or_default();
        found.bytes().all(|byte| byte.is_ascii_digit()) && found.len() == 2 && found <= most
    };
    let clock = two(0, "23") && two(3, "59") && two(6, "59");
    let colons = text.as_bytes().get(2) == Some(&b':') && text.as_bytes().get(5) == Some(&b':');
    let Some(mut rest) = text.get(8..) else { return false };
    let mut chars = rest.chars();
    if chars.next().is_some() && chars.next().is_some_and(|char| char.is_ascii_digit()) && !is_zone(rest) {
        let fraction = rest.get(1..).unwrap_or_default();
        rest = fraction.trim_start_matches(|char: char| char.is_ascii_digit());
    }
    clock && colons && is_zone(rest)
}

fn is_zone(text: &str) -> bool {
    let bytes = text.as_bytes();
    text == "z"
        || (bytes.len() == 6
            && matches!(bytes.first(), Some(b'+' | b'-'))
            && bytes.get(3) == Some(&b':')
            && [1, 2, 4, 5].iter().all(|&at| bytes.get(at).is_some_and(u8::is_ascii_digit)))
}

/// Go's durations, and those of Scala: `3 days 2 hours`.
fn is_duration(text: &str) -> bool {
    static PART: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("([0-9]+)\\s*([A-Za-zµ]+)").ok());
    const UNITS: &[&[&str]] = &[
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    let is_unit = |unit: &str| {
        UNITS.iter().any(|names| {
            names.contains(&unit) || names.last().is_some_and(|longest| unit.starts_with(longest))
        })
    };
    if kedge_kinds::duration::parse(text).is_ok() {
        return true;
    }
    let Some(part) = &*PART else { return false };
    let mut found = false;
    for captures in part.captures_iter(text) {
        if captures.get(1).is_none_or(|digits| digits.as_str().parse::<i64>().is_err()) {
            return false;
        }
        found |= captures.get(2).is_some_and(|unit| is_unit(&unit.as_str().to_lowercase()));
    }
    found
}

#[cfg(test)]
mod tests;
