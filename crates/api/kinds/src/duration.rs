//! Lengths of time in Go's text form: `1m30s`, `250ms`. Reads no clock.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("time: invalid duration {0:?}")]
    Form(String),
    #[error("time: missing unit in duration {0:?}")]
    NoUnit(String),
    #[error("time: unknown unit {1:?} in duration {0:?}")]
    Unit(String, String),
}

/// Nanoseconds; negative lengths exist.
pub fn parse(text: &str) -> Result<i64, DurationError> {
    let bad = || DurationError::Form(text.into());
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(bad());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.bytes().take_while(|c| c.is_ascii_digit() || *c == b'.').count();
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(bad());
        }
        if unit.is_empty() {
            return Err(DurationError::NoUnit(text.into()));
        }
        let size: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(DurationError::Unit(text.into(), unit.into())),
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad())? };
        let fraction = fraction.get(..fraction.len().min(18)).unwrap_or_default();
        let part = match fraction.parse::<i128>() {
            Ok(digits) => digits * size / 10_i128.pow(u32::try_from(fraction.len()).unwrap_or(0)),
            Err(_) => 0,
        };
        total = whole
            .checked_mul(size)
            .and_then(|sum| total.checked_add(sum))
            .and_then(|sum| sum.checked_add(part))
            .ok_or_else(bad)?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| bad())
}

/// A length that cannot be negative, for timeouts and the like.
pub fn parse_positive(text: &str) -> Result<Duration, DurationError> {
    let nanos = u64::try_from(parse(text)?).map_err(|_| DurationError::Form(text.into()))?;
    Ok(Duration::from_nanos(nanos))
}

/// `1h0m0s`, `1.5s`, `100ms`, `0s`
pub fn write(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    let (unit, name) = match size {
        0 => return "0s".into(),
        1..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => {
            let (minutes, seconds) = (size / 60_000_000_000, decimal(size % 60_000_000_000, 1_000_000_000));
            return match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            };
        }
    };
    format!("{sign}{}{name}", decimal(size, unit))
}

fn decimal(size: u64, unit: u64) -> String {
    let (whole, rest) = (size / unit, size % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = usize::try_from(unit.ilog10()).unwrap_or(9);
    format!("{whole}.{}", format!("{rest:0width$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests;
