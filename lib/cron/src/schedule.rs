//! A cron line as a whole, and the moments that it names. Moments are looked for on the clock of a place: what its people skip
//! when their clocks go forward does not happen, and what they live through twice happens twice.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::ScheduleError;
use crate::field::{self, Field};

/// A line that names no moment in this time never does: every 29th of February comes within it, bar one in a century.
const YEARS: i16 = 5;

const MACROS: &[(&str, &str)] = &[
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Fields(Fields),
    Every(SignedDuration),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
}

impl Schedule {
    /// Five fields, a macro such as `@daily`, or `@every 1h30m`. A time zone in front (`TZ=…`) is allowed and not heeded: the
    /// zone is handed in.
    pub fn parse(line: &str) -> Result<Self, ScheduleError> {
        let line = match line.strip_prefix("TZ=").or_else(|| line.strip_prefix("CRON_TZ=")) {
            Some(rest) => rest.split_once(' ').map_or("", |(_, fields)| fields.trim()),
            None => line,
        };
        if !line.starts_with('@') {
            return Fields::parse(line).map(|fields| Self(Rule::Fields(fields)));
        }
        if let Some(text) = line.strip_prefix("@every ") {
            let bad = || ScheduleError::Length { descriptor: line.to_owned(), length: text.to_owned() };
            let seconds = whole_seconds(text).ok_or_else(bad)?;
            return Ok(Self(Rule::Every(SignedDuration::from_secs(seconds.max(1)))));
        }
        let known = MACROS.iter().find(|(name, _)| *name == line);
        let (_, fields) = known.ok_or_else(|| ScheduleError::Descriptor(line.to_owned()))?;
        Fields::parse(fields).map(|fields| Self(Rule::Fields(fields)))
    }

    /// The first moment after this one. `None` if there is none within five years.
    pub fn after(&self, moment: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match &self.0 {
            Rule::Fields(fields) => fields.after(moment, zone),
            Rule::Every(length) => whole(moment)?.checked_add(*length).ok(),
        }
    }

    /// The last moment after `since` that is not after `until`.
    pub fn latest(&self, since: Timestamp, until: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if let Rule::Every(length) = &self.0 {
            let first = self.after(since, zone).filter(|first| *first <= until)?;
            let rounds = until.duration_since(first).as_secs() / length.as_secs();
            return first.checked_add(SignedDuration::from_secs(rounds * length.as_secs())).ok();
        }
        // Looking back a little and then further keeps a minutely line from counting all the minutes of a year.
        let hours = [0, 1, 24, 24 * 32, 24 * 366, 24 * 366 * 5];
        let starts = hours.iter().filter_map(|hours| {
            let back = SignedDuration::from_hours(*hours) + SignedDuration::from_mins(2);
            until.checked_sub(back).ok().filter(|start| *start > since)
        });
        let from = |start| self.after(start, zone).filter(|found| *found <= until);
        let mut latest = starts.chain([since]).find_map(from)?;
        while let Some(next) = from(latest) {
            latest = next;
        }
        Some(latest)
    }
}

impl Fields {
    fn parse(line: &str) -> Result<Self, ScheduleError> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[minute, hour, day, month, weekday] = &*fields else {
            return Err(ScheduleError::Fields { count: fields.len(), fields: fields.join(" ") });
        };
        Ok(Self {
            minute: Field::parse(minute, &field::MINUTE)?,
            hour: Field::parse(hour, &field::HOUR)?,
            day: Field::parse(day, &field::DAY)?,
            month: Field::parse(month, &field::MONTH)?,
            weekday: Field::parse(weekday, &field::WEEKDAY)?,
        })
    }

    fn after(&self, moment: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if self.minute.is_empty() || self.hour.is_empty() {
            return None;
        }
        let minute = moment.as_second().div_euclid(60) + 1;
        let mut candidate = Timestamp::from_second(minute.checked_mul(60)?).ok()?;
        let last_year = zone.to_datetime(candidate).year().saturating_add(YEARS);
        // Every step goes to the next moment at which the first field that doesn't fit could fit.
        loop {
            let there = zone.to_datetime(candidate);
            if there.year() > last_year {
                return None;
            }
            candidate = if !self.month.has(there.month()) {
                start_of(there.date().first_of_month().checked_add(1.month()).ok()?, zone)?
            } else if !self.fits_day(there.date()) {
                start_of(there.date().tomorrow().ok()?, zone)?
            } else if !self.hour.has(there.hour()) {
                let left = 3600 - i64::from(there.minute()) * 60 - i64::from(there.second());
                candidate.checked_add(SignedDuration::from_secs(left)).ok()?
            } else if !self.minute.has(there.minute()) || there.second() != 0 {
                let left = 60 - i64::from(there.second());
                candidate.checked_add(SignedDuration::from_secs(left)).ok()?
            } else {
                return Some(candidate);
            };
        }
    }

    /// With both kinds of day restricted, either will do.
    fn fits_day(&self, date: Date) -> bool {
        let day = self.day.has(date.day());
        let weekday = self.weekday.has(date.weekday().to_sunday_zero_offset());
        if self.day.open || self.weekday.open { day && weekday } else { day || weekday }
    }
}

/// The first moment of a day, which need not be midnight.
fn start_of(date: Date, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_ambiguous_zoned(date.at(0, 0, 0, 0)).compatible().ok().map(|start| start.timestamp())
}

fn whole(moment: Timestamp) -> Option<Timestamp> {
    Timestamp::from_second(moment.as_second()).ok()
}

/// `1h30m`, in seconds; what is less than one is cut off.
fn whole_seconds(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match rest {
        "" => return None,
        "0" => return Some(0),
        _ => {}
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let size = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * size;
        rest = after;
    }
    let length = SignedDuration::try_from_secs_f64(sign * seconds).ok()?;
    Some(length.as_secs())
}

#[cfg(test)]
mod tests;
