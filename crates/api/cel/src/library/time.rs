//! Timestamps and durations: how texts become them and back, and their parts.

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::Fun;
use crate::error::EvalError;
use crate::value::Value;

pub(crate) const SIGNATURES: &str = "
getFullYear timestamp_to_year timestamp.() int
getFullYear timestamp_to_year_with_tz timestamp.(string) int
getMonth timestamp_to_month timestamp.() int
getMonth timestamp_to_month_with_tz timestamp.(string) int
getDayOfYear timestamp_to_day_of_year timestamp.() int
getDayOfYear timestamp_to_day_of_year_with_tz timestamp.(string) int
getDayOfMonth timestamp_to_day_of_month timestamp.() int
getDayOfMonth timestamp_to_day_of_month_with_tz timestamp.(string) int
getDate timestamp_to_day_of_month_1_based timestamp.() int
getDate timestamp_to_day_of_month_1_based_with_tz timestamp.(string) int
getDayOfWeek timestamp_to_day_of_week timestamp.() int
getDayOfWeek timestamp_to_day_of_week_with_tz timestamp.(string) int
getHours timestamp_to_hours timestamp.() int
getHours timestamp_to_hours_with_tz timestamp.(string) int
getHours duration_to_hours duration.() int
getMinutes timestamp_to_minutes timestamp.() int
getMinutes timestamp_to_minutes_with_tz timestamp.(string) int
getMinutes duration_to_minutes duration.() int
getSeconds timestamp_to_seconds timestamp.() int
getSeconds timestamp_to_seconds_tz timestamp.(string) int
getSeconds duration_to_seconds duration.() int
getMilliseconds timestamp_to_milliseconds timestamp.() int
getMilliseconds timestamp_to_milliseconds_with_tz timestamp.(string) int
getMilliseconds duration_to_milliseconds duration.() int
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("getFullYear", |args| part(args, |at| i64::from(at.year()))),
    ("getMonth", |args| part(args, |at| i64::from(at.month()) - 1)),
    ("getDayOfYear", |args| part(args, |at| i64::from(at.day_of_year()) - 1)),
    ("getDayOfMonth", |args| part(args, |at| i64::from(at.day()) - 1)),
    ("getDate", |args| part(args, |at| i64::from(at.day()))),
    ("getDayOfWeek", |args| part(args, |at| i64::from(at.weekday().to_sunday_zero_offset()))),
    ("getHours", |args| part_or_whole(args, |at| i64::from(at.hour()), 3_600 * SECOND)),
    ("getMinutes", |args| part_or_whole(args, |at| i64::from(at.minute()), 60 * SECOND)),
    ("getSeconds", |args| part_or_whole(args, |at| i64::from(at.second()), SECOND)),
    ("getMilliseconds", |args| part_or_whole(args, |at| i64::from(at.millisecond()), SECOND / 1_000)),
];

pub(crate) const SECOND: i64 = 1_000_000_000;
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

fn part<'a>(args: &[Value<'a>], of: impl Fn(DateTime) -> i64) -> Result<Value<'a>, EvalError> {
    let (Value::Timestamp(time), zone) = (super::first(args)?, args.get(1)) else {
        return Err(EvalError::NoSuchOverload);
    };
    let zone = match zone {
        None => TimeZone::UTC,
        Some(Value::String(name)) => time_zone(name)?,
        Some(_) => return Err(EvalError::NoSuchOverload),
    };
    Ok(Value::Int(of(zone.to_datetime(*time))))
}

/// Of a timestamp the part; of a duration all of it, in that unit.
fn part_or_whole<'a>(
    args: &[Value<'a>],
    of: impl Fn(DateTime) -> i64,
    unit: i64,
) -> Result<Value<'a>, EvalError> {
    match args {
        [Value::Duration(nanos)] => Ok(Value::Int(nanos / unit)),
        _ => part(args, of),
    }
}

/// `UTC`, `+02:00`, `-8:30`, or a name that the machine's zone files know.
fn time_zone(name: &str) -> Result<TimeZone, EvalError> {
    let unknown = || EvalError::function(format!("unknown time zone {name}"));
    let Some((hours, minutes)) = name.split_once(':') else {
        return if name.is_empty() || name == "UTC" {
            Ok(TimeZone::UTC)
        } else {
            TimeZone::get(name).map_err(|_| unknown())
        };
    };
    let (hours, minutes): (i32, i32) = hours.parse().ok().zip(minutes.parse().ok()).ok_or_else(unknown)?;
    let sign = if name.starts_with('-') { -1 } else { 1 };
    let seconds = sign * (hours.abs() * 3600 + minutes * 60);
    Offset::from_seconds(seconds).map(TimeZone::fixed).map_err(|_| unknown())
}

/// Within the years that the language knows.
pub(crate) fn in_range(time: Timestamp) -> Result<Value<'static>, EvalError> {
    if (FIRST_SECOND..=LAST_SECOND).contains(&time.as_second()) {
        Ok(Value::Timestamp(time))
    } else {
        Err(EvalError::Overflow("timestamp"))
    }
}

pub(crate) fn from_seconds(seconds: i64) -> Result<Value<'static>, EvalError> {
    Timestamp::from_second(seconds).map_err(|_| EvalError::Overflow("timestamp")).and_then(in_range)
}

pub(crate) fn add(time: Timestamp, nanos: i64) -> Result<Value<'static>, EvalError> {
    let moved = time.checked_add(SignedDuration::from_nanos(nanos));
    moved.map_err(|_| EvalError::Overflow("timestamp")).and_then(in_range)
}

pub(crate) fn between(later: Timestamp, earlier: Timestamp) -> Result<Value<'static>, EvalError> {
    let nanos = later.as_nanosecond() - earlier.as_nanosecond();
    i64::try_from(nanos).map(Value::Duration).map_err(|_| EvalError::Overflow("duration"))
}

/// RFC 3339 only, as Go reads it.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 20
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]
            .iter()
            .all(|&(at, wanted)| bytes[at] == wanted)
        && (bytes.ends_with(b"Z") || bytes.len() >= 25 && matches!(bytes[bytes.len() - 6], b'+' | b'-'));
    if shaped { text.parse().ok() } else { None }
}

/// As schemas of the format `date` allow.
pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
    let date: Date = if text.len() == 10 { text.parse().ok()? } else { return None };
    TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()
}

/// As schemas of the format `date-time` allow: also a space or a small `t`, and no zone at all.
pub(crate) fn parse_date_time(text: &str) -> Option<Timestamp> {
    if text.is_empty() {
        return Timestamp::from_second(0).ok();
    }
    let regular = text.to_ascii_uppercase().replacen(' ', "T", 1);
    parse_timestamp(&regular).or_else(|| TimeZone::UTC.to_timestamp(regular.parse::<DateTime>().ok()?).ok())
}

/// As schemas of the format `duration` allow: Go's form, and words such as `3 days`.
pub(crate) fn parse_schema_duration(text: &str) -> Option<i64> {
    if let Some(nanos) = parse_duration(text) {
        return Some(nanos);
    }
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit: i64 = match unit.trim() {
        "d" | "day" | "days" => 86_400 * SECOND,
        "w" | "wk" | "week" | "weeks" => 7 * 86_400 * SECOND,
        "h" | "hr" | "hour" | "hours" => 3_600 * SECOND,
        "m" | "min" | "minute" | "minutes" => 60 * SECOND,
        "s" | "sec" | "second" | "seconds" => SECOND,
        "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => SECOND / 1_000,
        "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => SECOND / 1_000_000,
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

/// Go's form: `1h30m`, `-1.5s`, `300ms`, `0`.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        if !whole.is_empty() {
            total = total.checked_add(whole.parse::<i64>().ok().map(i128::from)?.checked_mul(unit)?)?;
        }
        let mut scale = unit;
        for digit in fraction.bytes() {
            scale /= 10;
            total = total.checked_add(i128::from(digit - b'0') * scale)?;
        }
        rest = next;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

pub(crate) fn format_timestamp(time: &Timestamp) -> String {
    time.to_string()
}

/// Seconds with as many decimals as needed: `1.5s`.
pub(crate) fn format_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let (seconds, rest) = (nanos / SECOND.unsigned_abs(), nanos % SECOND.unsigned_abs());
    let text = format!("{sign}{seconds}.{rest:09}");
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}
