//! Points in time as objects carry them: `Time` in whole seconds, `MicroTime` in microseconds, both in UTC. Reads no clock.

use jiff::{Timestamp, fmt::temporal::DateTimeParser};

/// What a text that should be a time lacks, in the words of Go's parser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    #[error("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}")]
    Form { text: String, layout: &'static str, rest: String, element: &'static str },
    #[error("parsing time {0:?}: extra text: {1:?}")]
    Extra(String, String),
    #[error("parsing time {0:?}: {1} out of range")]
    Range(String, &'static str),
}

/// How finely a time is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    Seconds,
    Micros,
}

impl Precision {
    fn layout(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// `2024-05-01T10:00:00Z`
pub fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2024-05-01T10:00:00.000000Z`
pub fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

pub fn write(at: Timestamp, precision: Precision) -> String {
    match precision {
        Precision::Seconds => seconds(at),
        Precision::Micros => micros(at),
    }
}

pub fn parse(text: &str, precision: Precision) -> Result<Timestamp, TimeError> {
    check_form(text, precision)?;
    static PARSER: DateTimeParser = DateTimeParser::new();
    // The form is right, so what is left to refuse is a number that no calendar has.
    PARSER.parse_timestamp(text).map_err(|_| TimeError::Range(text.into(), "day"))
}

/// The form in which the server answers a time. `None` if the text already has it.
pub fn canonical(text: &str, precision: Precision) -> Result<Option<String>, TimeError> {
    if is_canonical(text.as_bytes(), precision) {
        return Ok(None);
    }
    let written = write(parse(text, precision)?, precision);
    Ok((written != text).then_some(written))
}

/// True only for texts that surely need no change; days beyond the 28th are left to the calendar.
fn is_canonical(text: &[u8], precision: Precision) -> bool {
    let shape: &[u8] = match precision {
        Precision::Seconds => b"dddd-dd-ddTdd:dd:ddZ",
        Precision::Micros => b"dddd-dd-ddTdd:dd:dd.ddddddZ",
    };
    let two = |at: usize| {
        text.get(at..at + 2)
            .map_or(0, |digits| digits.iter().fold(0u32, |sum, digit| sum * 10 + u32::from(digit - b'0')))
    };
    text.len() == shape.len()
        && text
            .iter()
            .zip(shape)
            .all(|(found, wanted)| if *wanted == b'd' { found.is_ascii_digit() } else { found == wanted })
        && (1..=12).contains(&two(5))
        && (1..=28).contains(&two(8))
        && two(11) < 24
        && two(14) < 60
        && two(17) < 60
}

/// Go reads RFC 3339 element by element and names the first that does not fit.
fn check_form(text: &str, precision: Precision) -> Result<(), TimeError> {
    let layout = precision.layout();
    let mut rest = text;
    let fail =
        |rest: &str, element| Err(TimeError::Form { text: text.into(), layout, rest: rest.into(), element });
    let elements: [(&'static str, u32, u32, &'static str); 11] = [
        ("2006", 0, 9999, "year"),
        ("-", 0, 0, ""),
        ("01", 1, 12, "month"),
        ("-", 0, 0, ""),
        ("02", 1, 31, "day"),
        ("T", 0, 0, ""),
        ("15", 0, 23, "hour"),
        (":", 0, 0, ""),
        ("04", 0, 59, "minute"),
        (":", 0, 0, ""),
        ("05", 0, 59, "second"),
    ];
    for (element, low, high, name) in elements {
        let Some(found) = rest.get(..element.len()) else { return fail(rest, element) };
        if name.is_empty() {
            if found != element {
                return fail(rest, element);
            }
        } else {
            if !found.bytes().all(|digit| digit.is_ascii_digit()) {
                return fail(rest, element);
            }
            let number: u32 = found.parse().unwrap_or(high + 1);
            if !(low..=high).contains(&number) {
                return Err(TimeError::Range(text.into(), name));
            }
        }
        rest = rest.get(element.len()..).unwrap_or_default();
    }
    if let Some(after) = rest.strip_prefix(['.', ',']) {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            rest = after.get(digits..).unwrap_or_default();
        }
    } else if precision == Precision::Micros {
        return fail(rest, ".000000");
    }
    if let Some(after) = rest.strip_prefix('Z') {
        return if after.is_empty() { Ok(()) } else { Err(TimeError::Extra(text.into(), after.into())) };
    }
    let offset = rest.as_bytes();
    let is_offset = offset.len() >= 6
        && matches!(offset, [b'+' | b'-', a, b, b':', c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()));
    if !is_offset {
        return fail(rest, "Z07:00");
    }
    match rest.get(6..) {
        None | Some("") => Ok(()),
        Some(extra) => Err(TimeError::Extra(text.into(), extra.into())),
    }
}

#[cfg(test)]
mod tests;
