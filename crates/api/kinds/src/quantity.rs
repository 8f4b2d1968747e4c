//! Amounts of resources: `500m`, `1Gi`, `12e6`. Parses, compares, adds and writes them as Kubernetes does, down to one
//! billionth. Knows no resource by name.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// An exact amount in billionths with the family of suffixes it was written in.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

/// The family of suffixes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// `m`, none, `k`, `M`, `G`…
    #[default]
    DecimalSi,
    /// `Ki`, `Mi`, `Gi`…
    BinarySi,
    /// `e3`, `e6`…
    DecimalExponent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Form,
    #[error("unable to parse quantity's suffix")]
    Suffix,
    #[error("unable to parse numeric part of quantity")]
    Number,
}

const NANO: i128 = 1_000_000_000;
/// Amounts in binary suffixes stop here, as upstream's do.
const MAX_BINARY: i128 = i64::MAX as i128 * NANO;

/// A text taken apart, before any arithmetic.
struct Parts<'t> {
    negative: bool,
    /// Without leading zeros.
    whole: &'t str,
    fraction: &'t str,
    format: Format,
    /// Of two for [`Format::BinarySi`], of ten otherwise.
    exponent: i32,
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Form);
    }
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = rest.split_at(digits(rest));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => after.split_at(digits(after)),
        None => ("", rest),
    };
    let letters = rest.bytes().take_while(|c| b"eEinumkKMGTP".contains(c)).count();
    let sign = rest.get(letters..).is_some_and(|after| after.starts_with(['+', '-']));
    let (suffix, after) = rest.split_at(letters + usize::from(sign));
    let (power, after) = after.split_at(digits(after));
    if !after.is_empty() {
        return Err(QuantityError::Form);
    }
    let (format, exponent) = interpret(suffix, power).ok_or(QuantityError::Suffix)?;
    Ok(Parts { negative, whole: whole.trim_start_matches('0'), fraction, format, exponent })
}

fn interpret(suffix: &str, power: &str) -> Option<(Format, i32)> {
    if let Some(sign) = suffix.strip_prefix(['e', 'E'])
        && !power.is_empty()
    {
        let size: i32 = power.parse().ok()?;
        return match sign {
            "" | "+" => Some((Format::DecimalExponent, size)),
            "-" => Some((Format::DecimalExponent, -size)),
            _ => None,
        };
    }
    if !power.is_empty() {
        return None;
    }
    let decimal = |exponent| Some((Format::DecimalSi, exponent));
    let binary = |exponent| Some((Format::BinarySi, exponent));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => None,
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(of_parts(&split(text)?).unwrap_or(Quantity { nano: i128::MAX, format: Format::DecimalSi }))
    }
}

/// `None` if the amount is larger than any that we calculate with.
fn of_parts(parts: &Parts<'_>) -> Option<Quantity> {
    let too_long = parts.whole.len() > 38;
    // Digits beyond this can only matter for rounding up, for which one of them is enough.
    let fraction = parts.fraction.get(..parts.fraction.len().min(28)).unwrap_or_default();
    let mut inexact =
        parts.fraction.get(fraction.len()..).is_some_and(|rest| rest.bytes().any(|digit| digit != b'0'));
    let mut amount: i128 = 0;
    if too_long {
        return clamp(parts, None);
    }
    for digit in parts.whole.bytes().chain(fraction.bytes()) {
        let Some(next) = amount.checked_mul(10).and_then(|grown| grown.checked_add(i128::from(digit - b'0')))
        else {
            return clamp(parts, None);
        };
        amount = next;
    }
    if parts.format == Format::BinarySi {
        match amount.checked_mul(1_i128 << parts.exponent.clamp(0, 60)) {
            Some(scaled) => amount = scaled,
            None => return clamp(parts, None),
        }
    }
    let decimals = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let ten = if parts.format == Format::BinarySi { 0 } else { parts.exponent };
    let shift = 9_i32.saturating_add(ten).saturating_sub(decimals);
    if shift >= 0 {
        let factor = 10_i128.checked_pow(shift.unsigned_abs());
        amount = match factor.and_then(|factor| amount.checked_mul(factor)) {
            Some(scaled) => scaled,
            None if amount == 0 => 0,
            None => return clamp(parts, None),
        };
    } else {
        let factor = 10_i128.checked_pow(shift.unsigned_abs());
        let (whole, rest) = factor.map_or((0, amount), |factor| (amount / factor, amount % factor));
        inexact |= rest != 0;
        amount = whole;
    }
    if inexact {
        amount = amount.checked_add(1)?;
    }
    clamp(parts, Some(amount))
}

fn clamp(parts: &Parts<'_>, amount: Option<i128>) -> Option<Quantity> {
    let mut format = parts.format;
    let mut nano = match (amount, format) {
        (Some(nano), Format::BinarySi) => nano.min(MAX_BINARY),
        (None, Format::BinarySi) => MAX_BINARY,
        (other, _) => other?,
    };
    if format == Format::BinarySi && nano > 0 && nano < NANO {
        format = Format::DecimalSi;
    }
    if parts.negative {
        nano = -nano;
    }
    Some(Quantity { nano, format })
}

/// The form in which the server answers a quantity: `1024Mi` becomes `1Gi`, `0.5` becomes `500m`. `None` if the text already has it.
pub fn canonical(text: &str) -> Result<Option<String>, QuantityError> {
    // Upstream trims JSON strings before it reads them.
    let trimmed = text.trim();
    let parts = split(trimmed)?;
    if trimmed == "0" || is_left_alone(&parts) {
        return Ok((trimmed.len() != text.len()).then(|| trimmed.to_owned()));
    }
    let Some(quantity) = of_parts(&parts) else { return Ok(None) };
    let written = quantity.to_string();
    Ok((written != text).then_some(written))
}

/// Texts that upstream answers as they came, because they are canonical or nearly so (`007`, `1E3`).
fn is_left_alone(parts: &Parts<'_>) -> bool {
    let digits = parts.whole.len() + parts.fraction.len();
    if digits == 0 || digits > 18 {
        return false;
    }
    match parts.format {
        Format::BinarySi => {
            let fits =
                14 - i64::try_from(parts.whole.len()).unwrap_or(15) - i64::from(parts.exponent * 3 / 10) >= 0;
            parts.fraction.is_empty()
                && fits
                && parts.whole.parse::<u64>().is_ok_and(|number| number & 7 != 0)
        }
        Format::DecimalSi | Format::DecimalExponent => {
            let scale =
                parts.exponent.saturating_sub(i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX));
            let last = if parts.fraction.is_empty() { parts.whole } else { parts.fraction };
            let starts_with_zero = parts.whole.is_empty() && parts.fraction.starts_with('0');
            let ends_in_zeros =
                last.ends_with("000") || (parts.fraction == "00" && parts.whole.ends_with('0'));
            scale >= -9 && scale % 3 == 0 && !ends_in_zeros && !starts_with_zero
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return f.write_str("0");
        }
        if self.format == Format::BinarySi && self.nano % NANO == 0 && self.nano.abs() >= 1024 * NANO {
            let mut number = self.nano / NANO;
            let mut steps = 0;
            while number % 1024 == 0 && steps < 6 {
                number /= 1024;
                steps += 1;
            }
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(steps).copied().unwrap_or_default();
            return write!(f, "{number}{suffix}");
        }
        let mut number = self.nano;
        let mut exponent = -9;
        let highest = if self.format == Format::DecimalExponent { i32::MAX } else { 18 };
        while number % 1000 == 0 && exponent < highest {
            number /= 1000;
            exponent += 3;
        }
        match (self.format, exponent) {
            (_, 0) => write!(f, "{number}"),
            (Format::DecimalExponent, _) => write!(f, "{number}e{exponent}"),
            _ => {
                let step = usize::try_from((exponent + 9) / 3).unwrap_or_default();
                let suffix =
                    ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].get(step).copied().unwrap_or_default();
                write!(f, "{number}{suffix}")
            }
        }
    }
}

impl Quantity {
    pub const ZERO: Self = Self { nano: 0, format: Format::DecimalSi };

    pub fn of(whole: i64, format: Format) -> Self {
        Self { nano: i128::from(whole) * NANO, format }
    }

    pub fn of_milli(milli: i64) -> Self {
        Self { nano: i128::from(milli) * 1_000_000, format: Format::DecimalSi }
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// In whole units, rounded up.
    pub fn value(&self) -> i64 {
        saturate(round_up(self.nano, NANO))
    }

    /// In thousandths, rounded up: what a CPU is counted in.
    pub fn milli_value(&self) -> i64 {
        saturate(round_up(self.nano, 1_000_000))
    }

    /// Nothing finer than thousandths is kept in resource lists.
    #[must_use]
    pub fn rounded_to_milli(&self) -> Self {
        Self { nano: round_up(self.nano, 1_000_000).saturating_mul(1_000_000), format: self.format }
    }

    pub fn is_zero(&self) -> bool {
        self.nano == 0
    }

    pub fn is_negative(&self) -> bool {
        self.nano < 0
    }

    pub fn is_whole(&self) -> bool {
        self.nano % NANO == 0
    }

    /// The sum, in the left side's format unless that is zero.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let format = if self.nano == 0 { other.format } else { self.format };
        Self { nano: self.nano.saturating_add(other.nano), format }
    }

    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&Self { nano: other.nano.saturating_neg(), format: other.format })
    }
}

fn round_up(nano: i128, unit: i128) -> i128 {
    // Away from zero, as upstream rounds.
    let away = if nano % unit == 0 { 0 } else { nano.signum() };
    nano / unit + away
}

fn saturate(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

/// Two quantities are equal if they are the same amount, however written.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

#[cfg(test)]
mod tests;
