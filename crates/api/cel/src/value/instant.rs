//! A point in time with the offset it was written in. Knows the calendar, not time zones by name.

use std::cmp::Ordering;
use std::fmt;

/// The years 1 to 9999, to the nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    /// Since 1970, in UTC.
    seconds: i64,
    nanos: u32,
    /// Only for printing: how far ahead of UTC it was written, in seconds.
    offset: i32,
}

/// A moment taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: u32,
    /// From 1.
    pub(crate) day: u32,
    /// From 0.
    pub(crate) day_of_year: u32,
    /// From Sunday, 0.
    pub(crate) weekday: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
}

const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;
const DAY: i64 = 86_400;
const NANOS: i128 = 1_000_000_000;

impl Instant {
    /// `None` outside of the years 1 to 9999.
    pub(crate) fn new(seconds: i64, nanos: u32, offset: i32) -> Option<Self> {
        (FIRST..=LAST).contains(&seconds).then_some(Instant { seconds, nanos, offset })
    }

    pub(crate) fn seconds(&self) -> i64 {
        self.seconds
    }

    pub(crate) fn millis(&self) -> i64 {
        i64::from(self.nanos / 1_000_000)
    }

    pub(crate) fn is_first(&self) -> bool {
        self.seconds == FIRST && self.nanos == 0
    }

    fn total(&self) -> i128 {
        i128::from(self.seconds) * NANOS + i128::from(self.nanos)
    }

    pub(crate) fn plus(&self, nanos: i128) -> Option<Self> {
        let total = self.total() + nanos;
        let seconds = i64::try_from(total.div_euclid(NANOS)).ok()?;
        Instant::new(seconds, u32::try_from(total.rem_euclid(NANOS)).ok()?, self.offset)
    }

    /// How long after the other it is.
    pub(crate) fn since(&self, other: &Instant) -> i128 {
        self.total() - other.total()
    }

    /// As a clock so far ahead of UTC shows it.
    pub(crate) fn parts(&self, offset: i32) -> Parts {
        let local = self.seconds + i64::from(offset);
        let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY) as u32);
        let (year, month, day) = date_of(days);
        Parts {
            year,
            month,
            day,
            day_of_year: (days - days_before(year, 1, 1)) as u32,
            // 1970 began on a Thursday.
            weekday: (days + 4).rem_euclid(7) as u32,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    /// RFC 3339 as Go reads it. `lenient` also takes a space or small letters, and no zone at all.
    pub(crate) fn parse(text: &str, lenient: bool) -> Option<Self> {
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = text.get(from..to)?;
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let bytes = text.as_bytes();
        let is = |at: usize, wanted: &[u8]| bytes.get(at).is_some_and(|byte| wanted.contains(byte));
        let separator: &[u8] = if lenient { b"Tt " } else { b"T" };
        if !(is(4, b"-") && is(7, b"-") && is(10, separator) && is(13, b":") && is(16, b":")) {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let days = days_before(year, month, day);
        let valid =
            date_of(days) == (year, month as u32, day as u32) && hour < 24 && minute < 60 && second < 60;
        let mut rest = text.get(19..)?;
        let mut nanos = 0;
        if let Some(after) = rest.strip_prefix(['.', ',']) {
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let kept = &after[..digits.min(9)];
            nanos = format!("{kept:0<9}").parse().ok().filter(|_| digits > 0)?;
            rest = &after[digits..];
        }
        let offset = offset(rest, lenient)?;
        let seconds = days * DAY + hour * 3600 + minute * 60 + second - i64::from(offset);
        Instant::new(seconds, nanos, offset).filter(|_| valid)
    }

    /// `2024-01-31`, at midnight.
    pub(crate) fn parse_date(text: &str) -> Option<Self> {
        (text.len() == 10).then(|| Instant::parse(&format!("{text}T00:00:00Z"), false))?
    }
}

fn offset(zone: &str, lenient: bool) -> Option<i32> {
    match zone {
        "Z" => return Some(0),
        "z" | "" if lenient => return Some(0),
        _ => {}
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = (zone.get(1..3)?, zone.get(4..)?);
    let fine =
        zone.len() == 6 && zone.get(3..4)? == ":" && !hours.starts_with('+') && !minutes.starts_with('+');
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (fine && hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Days from 1970 to a date, counting years from March so that the leap day comes last.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

fn date_of(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

/// As it was written: with its own offset and no more decimals than needed.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.parts(self.offset);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            at.year, at.month, at.day, at.hour, at.minute, at.second
        )?;
        if self.nanos > 0 {
            write!(f, ".{}", format!("{:09}", self.nanos).trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let (sign, minutes) = (if self.offset < 0 { '-' } else { '+' }, self.offset.unsigned_abs() / 60);
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl PartialEq for Instant {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Instant {}

impl PartialOrd for Instant {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}
