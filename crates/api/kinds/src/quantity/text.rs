//! Takes a quantity's text apart and calculates what it says, in billionths.

use super::{Format, MAX_BINARY, NANO, Quantity, QuantityError};

/// A text taken apart, before any arithmetic.
pub(super) struct Parts<'t> {
    negative: bool,
    /// Without leading zeros.
    whole: &'t str,
    fraction: &'t str,
    format: Format,
    /// Of two for [`Format::BinarySi`], of ten otherwise.
    exponent: i32,
}

pub(super) fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
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

/// `None` if the amount is larger than any that we calculate with.
pub(super) fn of_parts(parts: &Parts<'_>) -> Option<Quantity> {
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

/// Texts that upstream answers as they came, because they are canonical or nearly so (`007`, `1E3`).
pub(super) fn is_left_alone(parts: &Parts<'_>) -> bool {
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
