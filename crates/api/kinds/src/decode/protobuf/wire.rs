//! Protobuf's framing: numbers, lengths and wire types. Knows no message.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("unexpected end of message")]
    Truncated,
    #[error("integer overflow")]
    Varint,
    #[error("wrong wire type")]
    WireType,
    #[error("illegal field number")]
    Number,
    #[error("string field contains invalid UTF-8")]
    Utf8,
    #[error("exceeded max depth")]
    Depth,
    #[error("embedded object cannot be read")]
    Raw,
    #[error("time is out of range")]
    Time,
}

pub(super) enum Datum<'b> {
    Number(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'b [u8]),
}

impl<'b> Datum<'b> {
    pub(super) fn bytes(&self) -> Result<&'b [u8], WireError> {
        match self {
            Datum::Bytes(bytes) => Ok(bytes),
            _ => Err(WireError::WireType),
        }
    }

    pub(super) fn text(&self) -> Result<String, WireError> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| WireError::Utf8)?;
        Ok(text.to_owned())
    }

    pub(super) fn number(&self) -> Result<u64, WireError> {
        match self {
            Datum::Number(number) => Ok(*number),
            _ => Err(WireError::WireType),
        }
    }

    pub(super) fn signed(&self) -> Result<i64, WireError> {
        self.number().map(u64::cast_signed)
    }

    pub(super) fn double(&self) -> Result<f64, WireError> {
        match self {
            Datum::Fixed64(bits) => Ok(f64::from_bits(*bits)),
            _ => Err(WireError::WireType),
        }
    }
}

pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Datum<'b>)>, WireError> {
        let Some(tag) = self.varint_or_end()? else { return Ok(None) };
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0).ok_or(WireError::Number)?;
        let datum = match tag & 7 {
            0 => Datum::Number(self.varint()?),
            1 => Datum::Fixed64(self.take(8)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
                Datum::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Datum::Fixed32
            }
            _ => return Err(WireError::WireType),
        };
        Ok(Some((number, datum)))
    }

    pub(super) fn varint_or_end(&mut self) -> Result<Option<u64>, WireError> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(WireError::Truncated)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(WireError::Varint)
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}
