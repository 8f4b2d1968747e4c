//! Timestamps and durations: how texts become them and back, and their parts.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Fun;
use crate::error::EvalError;
use crate::value::Value;
use crate::value::instant::{Instant, Parts};

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
    ("getFullYear", |args| part(args, |at| at.year)),
    ("getMonth", |args| part(args, |at| i64::from(at.month) - 1)),
    ("getDayOfYear", |args| part(args, |at| i64::from(at.day_of_year))),
    ("getDayOfMonth", |args| part(args, |at| i64::from(at.day) - 1)),
    ("getDate", |args| part(args, |at| i64::from(at.day))),
    ("getDayOfWeek", |args| part(args, |at| i64::from(at.weekday))),
    ("getHours", |args| part_or_whole(args, |at| i64::from(at.hour), 3_600 * SECOND)),
    ("getMinutes", |args| part_or_whole(args, |at| i64::from(at.minute), 60 * SECOND)),
    ("getSeconds", |args| part_or_whole(args, |at| i64::from(at.second), SECOND)),
    ("getMilliseconds", |args| match args {
        [Value::Duration(nanos)] => Ok(Value::Int(nanos / (SECOND / 1_000))),
        [Value::Timestamp(time), ..] => Ok(Value::Int(time.millis())),
        _ => Err(EvalError::NoSuchOverload),
    }),
];

pub(crate) const SECOND: i64 = 1_000_000_000;

fn part<'a>(args: &[Value<'a>], of: impl Fn(Parts) -> i64) -> Result<Value<'a>, EvalError> {
    let (Value::Timestamp(time), zone) = (super::first(args)?, args.get(1)) else {
        return Err(EvalError::NoSuchOverload);
    };
    let offset = match zone {
        None => 0,
        Some(Value::String(name)) => offset_of(name, *time)?,
        Some(_) => return Err(EvalError::NoSuchOverload),
    };
    Ok(Value::Int(of(time.parts(offset))))
}

/// Of a timestamp the part; of a duration all of it, in that unit.
fn part_or_whole<'a>(
    args: &[Value<'a>],
    of: impl Fn(Parts) -> i64,
    unit: i64,
) -> Result<Value<'a>, EvalError> {
    match args {
        [Value::Duration(nanos)] => Ok(Value::Int(nanos / unit)),
        _ => part(args, of),
    }
}

/// How far ahead of UTC clocks are there at that moment: `+02:00`, `-8:30`, `Europe/Berlin`. The zones are in this program, so
/// that every server says the same, whatever files it has.
fn offset_of(name: &str, time: Instant) -> Result<i32, EvalError> {
    let unknown = || EvalError::function(format!("unknown time zone {name}"));
    // Servers of Kubernetes run in containers, where the local time is UTC.
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(0);
    }
    let Some((hours, minutes)) = name.split_once(':') else {
        let zone = TimeZone::get(name).map_err(|_| unknown())?;
        let moment = Timestamp::from_second(time.seconds()).map_err(|_| unknown())?;
        // Go's names are those of files: capitals matter.
        let is_meant = zone.iana_name() == Some(name);
        return if is_meant { Ok(zone.to_offset(moment).seconds()) } else { Err(unknown()) };
    };
    let (hours, minutes): (i32, i32) = hours.parse().ok().zip(minutes.parse().ok()).ok_or_else(unknown)?;
    if hours.abs() > 24 || !(0..60).contains(&minutes) {
        return Err(unknown());
    }
    let sign = if name.starts_with('-') { -1 } else { 1 };
    Ok(sign * (hours.abs() * 3600 + minutes * 60))
}

fn in_range(time: Option<Instant>) -> Result<Value<'static>, EvalError> {
    time.map(Value::Timestamp).ok_or(EvalError::Overflow("timestamp"))
}

pub(crate) fn from_seconds(seconds: i64) -> Result<Value<'static>, EvalError> {
    in_range(Instant::new(seconds, 0, 0))
}

pub(crate) fn add(time: Instant, nanos: i64) -> Result<Value<'static>, EvalError> {
    in_range(time.plus(i128::from(nanos)))
}

pub(crate) fn between(later: Instant, earlier: Instant) -> Result<Value<'static>, EvalError> {
    i64::try_from(later.since(&earlier)).map(Value::Duration).map_err(|_| EvalError::Overflow("integer"))
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

/// Seconds with as many decimals as needed: `1.5s`.
pub(crate) fn format_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let (seconds, rest) = (nanos / SECOND.unsigned_abs(), nanos % SECOND.unsigned_abs());
    let text = format!("{sign}{seconds}.{rest:09}");
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}
