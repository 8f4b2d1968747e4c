//! Whether a single value fits its shape, and its canonical form: `1024Mi` becomes `1Gi`, times become UTC.

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use crate::quantity;
use crate::schema::Shape;
use crate::time::{self, Precision};

pub(super) enum Fault {
    /// The decoder's own message.
    Form(String),
    Type {
        wanted: String,
        /// Whether the message shows the number that was found.
        with_value: bool,
    },
}

fn wants(wanted: &str) -> Fault {
    Fault::Type { wanted: wanted.into(), with_value: false }
}

pub(super) fn normalise(shape: &Shape, value: &mut Value) -> Result<(), Fault> {
    match shape {
        Shape::String if value.is_string() => Ok(()),
        Shape::String => Err(wants("string")),
        Shape::Bool if value.is_boolean() => Ok(()),
        Shape::Bool => Err(wants("bool")),
        Shape::Int32 => integer(value, "int32", |number| i32::try_from(number).is_ok()),
        Shape::Int64 => integer(value, "int64", |_| true),
        Shape::Double if value.is_number() => Ok(()),
        Shape::Double => Err(wants("float64")),
        Shape::IntOrString if value.is_string() => Ok(()),
        Shape::IntOrString => integer(value, "int32", |number| i32::try_from(number).is_ok()),
        Shape::Bytes => bytes(value),
        Shape::Quantity => amount(value),
        Shape::Time => moment(value, Precision::Seconds),
        Shape::MicroTime => moment(value, Precision::Micros),
        Shape::Duration => length(value),
        Shape::Object(_) | Shape::Map(_) | Shape::List(_) | Shape::Any => Ok(()),
    }
}

fn integer(value: &Value, wanted: &str, fits: impl Fn(i64) -> bool) -> Result<(), Fault> {
    match value {
        Value::Number(number) if number.as_i64().is_some_and(fits) => Ok(()),
        Value::Number(_) => Err(Fault::Type { wanted: wanted.into(), with_value: true }),
        _ => Err(wants(wanted)),
    }
}

/// Go's decoder does not mind bits beyond the last byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

fn bytes(value: &mut Value) -> Result<(), Fault> {
    let Value::String(text) = value else { return Err(wants("[]uint8")) };
    let illegal = |at: usize| Fault::Form(format!("illegal base64 data at input byte {at}"));
    let decode = |text: &str| {
        BASE64.decode(text).map_err(|error| match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
                illegal(at)
            }
            base64::DecodeError::InvalidLength(length) => illegal(length.saturating_sub(length % 4)),
            base64::DecodeError::InvalidPadding => illegal(text.len()),
        })
    };
    if text.bytes().any(|c| matches!(c, b'\r' | b'\n')) {
        let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        *text = BASE64.encode(decode(&joined)?);
    } else {
        decode(text)?;
    }
    Ok(())
}

fn amount(value: &mut Value) -> Result<(), Fault> {
    let form = |error: quantity::QuantityError| Fault::Form(error.to_string());
    match value {
        Value::String(text) => {
            if let Some(canonical) = quantity::canonical(text).map_err(form)? {
                *text = canonical;
            }
        }
        Value::Number(number) => {
            let text = number.to_string();
            *value = Value::String(quantity::canonical(&text).map_err(form)?.unwrap_or(text));
        }
        // Upstream reads whatever stands there as a text, and only then finds that it is none.
        _ => return Err(form(quantity::QuantityError::Form)),
    }
    Ok(())
}

fn moment(value: &mut Value, precision: Precision) -> Result<(), Fault> {
    let Value::String(text) = value else { return Err(wants("string")) };
    if let Some(canonical) =
        time::canonical(text, precision).map_err(|error| Fault::Form(error.to_string()))?
    {
        *text = canonical;
    }
    Ok(())
}

fn length(value: &mut Value) -> Result<(), Fault> {
    let Value::String(text) = value else { return Err(wants("string")) };
    let nanos = crate::duration::parse(text).map_err(|error| Fault::Form(error.to_string()))?;
    *text = crate::duration::write(nanos);
    Ok(())
}
