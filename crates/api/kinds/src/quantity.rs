//! Amounts of resources: `500m`, `1Gi`, `12e6`. Parses, compares, adds and writes them as Kubernetes does, down to one
//! billionth. Knows no resource by name.

mod text;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use text::{is_left_alone, of_parts, split};

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

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Ok(of_parts(&split(text)?).unwrap_or(Quantity { nano: i128::MAX, format: Format::DecimalSi }))
    }
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
