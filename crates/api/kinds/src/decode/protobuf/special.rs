//! Messages that stand for one JSON value: times, and numbers that may be texts.

use jiff::Timestamp;
use serde_json::Value;

use super::wire::{Datum, Reader, WireError};
use crate::time;

/// The last field of that number in a small message.
pub(super) fn inner(bytes: &[u8], wanted: u32) -> Result<Option<Datum<'_>>, WireError> {
    let mut found = None;
    let mut reader = Reader::new(bytes);
    while let Some((number, datum)) = reader.next()? {
        if number == wanted {
            found = Some(datum);
        }
    }
    Ok(found)
}

pub(super) fn int_or_string(bytes: &[u8]) -> Result<Value, WireError> {
    let is_text = inner(bytes, 1)?.map_or(Ok(0), |datum| datum.number())? == 1;
    if is_text {
        return inner(bytes, 3)?.map_or_else(|| Ok("".into()), |datum| datum.text().map(Value::from));
    }
    let number = inner(bytes, 2)?.map_or(Ok(0), |datum| datum.signed())?;
    Ok((number as i32).into())
}

/// Nothing at all is no time: null, which vanishes.
pub(super) fn moment(bytes: &[u8], precision: time::Precision) -> Result<Value, WireError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let seconds = inner(bytes, 1)?.map_or(Ok(0), |datum| datum.signed())?;
    let nanos = inner(bytes, 2)?.map_or(Ok(0), |datum| datum.signed())?;
    let at = Timestamp::new(seconds, nanos as i32).map_err(|_| WireError::Time)?;
    Ok(time::write(at, precision).into())
}
