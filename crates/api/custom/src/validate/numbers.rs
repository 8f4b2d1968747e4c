//! Demands on numbers. Limits are floats in a definition; held against an integer they are cut to one first, as upstream does.

use serde_json::{Number, Value};

use super::types::is_int;
use super::{Fault, Found};
use crate::place::Place;
use crate::schema::{Check, Schema, Type};

const LARGEST_EXACT: f64 = 9_007_199_254_740_991.0;
const CLOSE: f64 = 1e-9;

pub(super) fn check(schema: &Schema, number: &Number, place: &Place<'_>, found: &mut Found) {
    let format = schema.checks.iter().find_map(|check| match check {
        Check::Format(format) => Some(format.name()),
        _ => None,
    });
    let kind = if schema.int_or_string { None } else { schema.kind };
    let range = |value: Held| outside(value, kind, format);
    let value = match number.as_i64() {
        Some(whole) => Held::Int(whole),
        None => Held::Float(number.as_f64().unwrap_or(f64::NAN)),
    };
    if let Some(wanted) = range(value) {
        found.fault(beyond("Checked", wanted, place));
    }
    for check in &schema.checks {
        let (limit, what) = match check {
            Check::MultipleOf(factor) => (*factor, "MultipleOf"),
            Check::Minimum { limit, .. } => (*limit, "Minimum boundary"),
            Check::Maximum { limit, .. } => (*limit, "Maximum boundary"),
            _ => continue,
        };
        let unfit = range(Held::Float(limit));
        if let Some(wanted) = &unfit {
            found.fault(beyond(what, wanted.clone(), place));
        }
        // A limit that does not fit the type is held against the value as a float.
        let value = if unfit.is_some() { Held::Float(value.float()) } else { value };
        if let Some(said) = value.fails(check) {
            found.fault(Fault::invalid(place, value.json(), &said));
        }
    }
}

fn beyond(what: &str, wanted: String, place: &Place<'_>) -> Fault {
    Fault::Whole { message: format!("{what} value must be of type {wanted} in {}", place.dotted()) }
}

/// What the type and format would have wanted, if the number is none of theirs.
fn outside(value: Held, kind: Option<Type>, format: Option<&str>) -> Option<String> {
    match kind {
        Some(Type::Integer) => {
            let whole = value.whole();
            let fits = match format {
                Some("int32") => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
                _ => whole.is_some(),
            };
            let format = match format {
                Some(format) => format!("with format {format}"),
                None => "(default format)".to_owned(),
            };
            (!fits).then(|| format!("integer {format}"))
        }
        Some(Type::Number) if format == Some("float") => {
            let fits = value.float().abs() <= f64::from(f32::MAX);
            (!fits).then(|| "number with format float".to_owned())
        }
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Held {
    Int(i64),
    Float(f64),
}

impl Held {
    #[expect(clippy::cast_precision_loss, reason = "what is held against a float is one")]
    fn float(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
    fn whole(self) -> Option<i64> {
        match self {
            Self::Int(whole) => Some(whole),
            Self::Float(float) => (float.fract() == 0.0 && float.abs() < 9.3e18).then_some(float as i64),
        }
    }

    fn json(self) -> Value {
        match self {
            Self::Int(whole) => whole.into(),
            Self::Float(float) if float.fract() == 0.0 => {
                self.whole().map_or_else(|| float.into(), Value::from)
            }
            Self::Float(float) => float.into(),
        }
    }

    /// What is to be said if the number does not fulfil a demand.
    fn fails(self, check: &Check) -> Option<String> {
        let (broken, demand, limit) = match (check, self) {
            (Check::MultipleOf(factor), Self::Int(value)) => {
                let factor = cut(*factor);
                (factor > 0 && value % factor != 0, "a multiple of", factor.to_string())
            }
            (Check::MultipleOf(factor), Self::Float(value)) => {
                let times = if *factor < 1.0 { 1.0 / factor * value } else { value / factor };
                (!is_whole(times), "a multiple of", shown(*factor))
            }
            (Check::Minimum { limit, exclusive }, Self::Int(value)) => {
                let limit = cut(*limit);
                (value < limit || (*exclusive && value == limit), above(*exclusive), limit.to_string())
            }
            (Check::Minimum { limit, exclusive }, Self::Float(value)) => {
                let equal = (value - limit).abs() == 0.0;
                (value < *limit || (*exclusive && equal), above(*exclusive), shown(*limit))
            }
            (Check::Maximum { limit, exclusive }, Self::Int(value)) => {
                let limit = cut(*limit);
                (value > limit || (*exclusive && value == limit), below(*exclusive), limit.to_string())
            }
            (Check::Maximum { limit, exclusive }, Self::Float(value)) => {
                let equal = (value - limit).abs() == 0.0;
                (value > *limit || (*exclusive && equal), below(*exclusive), shown(*limit))
            }
            _ => return None,
        };
        broken.then(|| format!("should be {demand} {limit}"))
    }
}

fn above(exclusive: bool) -> &'static str {
    if exclusive { "greater than" } else { "greater than or equal to" }
}

fn below(exclusive: bool) -> &'static str {
    if exclusive { "less than" } else { "less than or equal to" }
}

/// A limit as an integer is held against it.
#[expect(clippy::cast_possible_truncation, reason = "upstream cuts it the same way")]
fn cut(limit: f64) -> i64 {
    limit as i64
}

/// A float as Go prints it.
pub(crate) fn shown(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e21).contains(&size) {
        let text = format!("{float:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
        return format!("{digits}e{sign}{power:0>2}");
    }
    float.to_string()
}

/// Whether a float stands for an integer, small errors of computing aside.
#[expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "compared with itself"
)]
pub(super) fn is_whole(float: f64) -> bool {
    if !float.is_finite() || float.abs() > LARGEST_EXACT {
        return false;
    }
    if float.fract() == 0.0 {
        return true;
    }
    let cut = float as u64 as f64;
    let apart = (float - cut).abs();
    cut != 0.0 && apart / (float.abs() + cut.abs()) < CLOSE
}

/// Equal, where 1 and 1.0 are.
pub(super) fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if is_int(x) != is_int(y) => x.as_f64() == y.as_f64(),
        _ => a == b,
    }
}
