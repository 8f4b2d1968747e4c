//! One field of a cron line: which of its values are meant, and whether it leaves the choice open.

use crate::ScheduleError;

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

pub(crate) const MINUTE: Bounds = Bounds { low: 0, high: 59, names: &[] };
pub(crate) const HOUR: Bounds = Bounds { low: 0, high: 23, names: &[] };
pub(crate) const DAY: Bounds = Bounds { low: 1, high: 31, names: &[] };
pub(crate) const MONTH: Bounds = Bounds { low: 1, high: 12, names: MONTHS };
pub(crate) const WEEKDAY: Bounds = Bounds { low: 0, high: 6, names: DAYS };

/// What a field may hold.
pub(crate) struct Bounds {
    low: u32,
    high: u32,
    names: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bit `n` stands for the value `n`; no field has values above 59.
    values: u64,
    /// It has a star that is not thinned out by a step.
    pub(crate) open: bool,
}

impl Field {
    /// `*`, `5`, `1-5`, `*/2`, `1-30/3`, `mon-fri`, and several of them between commas
    pub(crate) fn parse(text: &str, bounds: &Bounds) -> Result<Self, ScheduleError> {
        let mut field = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let more = range(part, bounds)?;
            field.values |= more.values;
            field.open |= more.open;
        }
        Ok(field)
    }

    /// Commas alone name no value.
    pub(crate) fn is_empty(self) -> bool {
        self.values == 0
    }

    pub(crate) fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| self.values.checked_shr(value).unwrap_or(0) & 1 == 1)
    }
}

fn range(part: &str, bounds: &Bounds) -> Result<Field, ScheduleError> {
    let mut slashes = part.split('/');
    let (span, step, more) = (slashes.next().unwrap_or_default(), slashes.next(), slashes.next());
    let mut hyphens = span.split('-');
    let (first, last, extra) = (hyphens.next().unwrap_or_default(), hyphens.next(), hyphens.next());
    let star = first == "*" || first == "?";
    let (start, end) = if star {
        (bounds.low, bounds.high)
    } else {
        let start = value(first, bounds)?;
        match (last, extra) {
            (None, _) if step.is_some() => (start, bounds.high),
            (None, _) => (start, start),
            (Some(last), None) => (start, value(last, bounds)?),
            _ => return Err(ScheduleError::Hyphens(part.to_owned())),
        }
    };
    if more.is_some() {
        return Err(ScheduleError::Slashes(part.to_owned()));
    }
    let step = step.map_or(Ok(1), number)?;
    let part = || part.to_owned();
    if start < bounds.low {
        return Err(ScheduleError::TooLow { start, low: bounds.low, part: part() });
    }
    if end > bounds.high {
        return Err(ScheduleError::TooHigh { end, high: bounds.high, part: part() });
    }
    if start > end {
        return Err(ScheduleError::Backwards { start, end, part: part() });
    }
    if step == 0 {
        return Err(ScheduleError::NoStep(part()));
    }
    let stride = usize::try_from(step).unwrap_or(usize::MAX);
    let values = (start..=end).step_by(stride).fold(0, |values, value| values | 1_u64 << value);
    Ok(Field { values, open: star && step == 1 })
}

fn value(text: &str, bounds: &Bounds) -> Result<u32, ScheduleError> {
    let named = bounds.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    match named.and_then(|at| u32::try_from(at).ok()) {
        Some(at) => Ok(at + bounds.low),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, ScheduleError> {
    let number = text.parse::<i64>().map_err(|_| ScheduleError::NoNumber(text.to_owned()))?;
    u32::try_from(number).map_err(|_| ScheduleError::Negative { number, text: text.to_owned() })
}
