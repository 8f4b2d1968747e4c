//! Quantities: parse, compare, add. The comparisons are shared with versions.

use std::cmp::Ordering;

use kedge_kinds::quantity::{Format, Quantity};

use super::{Fun, first, second, semver};
use crate::error::EvalError;
use crate::value::{Opaque, Value};

pub(crate) const SIGNATURES: &str = "
quantity string_to_quantity (string) quantity
isQuantity is_quantity_string (string) bool
sign quantity_sign (quantity) int
isGreaterThan quantity_is_greater_than quantity.(quantity) bool
isLessThan quantity_is_less_than quantity.(quantity) bool
compareTo quantity_compare_to quantity.(quantity) int
asApproximateFloat quantity_get_float quantity.() double
asInteger quantity_get_int quantity.() int
isInteger quantity_is_integer quantity.() bool
add quantity_add quantity.(quantity) quantity
add quantity_add_int quantity.(int) quantity
sub quantity_sub quantity.(quantity) quantity
sub quantity_sub_int quantity.(int) quantity
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("quantity", |args| match first(args)? {
        Value::String(text) => match text.parse::<Quantity>() {
            Ok(quantity) => Ok(Value::opaque(Opaque::Quantity(quantity))),
            Err(error) => Err(EvalError::function(error.to_string())),
        },
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("isQuantity", |args| match first(args)? {
        Value::String(text) => Ok(Value::Bool(text.parse::<Quantity>().is_ok())),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("sign", |args| {
        let quantity = of(first(args)?)?;
        Ok(Value::Int(if quantity.is_zero() {
            0
        } else if quantity.is_negative() {
            -1
        } else {
            1
        }))
    }),
    ("isGreaterThan", |args| Ok(Value::Bool(order(args)? == Ordering::Greater))),
    ("isLessThan", |args| Ok(Value::Bool(order(args)? == Ordering::Less))),
    ("compareTo", |args| Ok(Value::Int(order(args)? as i64))),
    ("asApproximateFloat", |args| Ok(Value::Double(approximate(of(first(args)?)?)))),
    ("asInteger", |args| match whole(of(first(args)?)?) {
        Some(number) => Ok(Value::Int(number)),
        None => Err(EvalError::function("cannot convert value to integer")),
    }),
    ("isInteger", |args| Ok(Value::Bool(whole(of(first(args)?)?).is_some()))),
    ("add", |args| Ok(Value::opaque(Opaque::Quantity(of(first(args)?)?.plus(&amount(second(args)?)?))))),
    ("sub", |args| Ok(Value::opaque(Opaque::Quantity(of(first(args)?)?.minus(&amount(second(args)?)?))))),
];

fn of<'v>(value: &'v Value<'_>) -> Result<&'v Quantity, EvalError> {
    match value {
        Value::Opaque(opaque) => match &**opaque {
            Opaque::Quantity(quantity) => Ok(quantity),
            _ => Err(EvalError::NoSuchOverload),
        },
        _ => Err(EvalError::NoSuchOverload),
    }
}

/// A quantity, or a whole number as one.
fn amount(value: &Value<'_>) -> Result<Quantity, EvalError> {
    match value {
        Value::Int(number) => Ok(Quantity::of(*number, Format::DecimalExponent)),
        other => of(other).copied(),
    }
}

fn order(args: &[Value<'_>]) -> Result<Ordering, EvalError> {
    match of(first(args)?) {
        Ok(quantity) => Ok(quantity.cmp(of(second(args)?)?)),
        Err(_) => semver::order(args),
    }
}

fn whole(quantity: &Quantity) -> Option<i64> {
    let number = quantity.value();
    // A value that was cut off at the end of the range does not compare equal.
    (quantity.is_whole() && Quantity::of(number, quantity.format()) == *quantity).then_some(number)
}

fn approximate(quantity: &Quantity) -> f64 {
    // The canonical text without its suffix is exact enough, but a plain number is simplest where there is one.
    match whole(quantity) {
        Some(number) => number as f64,
        None if quantity.rounded_to_milli() == *quantity => quantity.milli_value() as f64 / 1_000.0,
        None => {
            let text = quantity.to_string();
            let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            let scale = match &text[number.len()..] {
                "n" => 1e-9,
                "u" => 1e-6,
                "m" => 1e-3,
                "k" => 1e3,
                "M" => 1e6,
                "G" => 1e9,
                "T" => 1e12,
                "P" => 1e15,
                "E" => 1e18,
                _ => 1.0,
            };
            number.parse::<f64>().unwrap_or(f64::NAN) * scale
        }
    }
}
