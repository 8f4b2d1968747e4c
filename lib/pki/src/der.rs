//! The few DER values that a certificate is made of. Writes only; `x509-parser` reads.

/// One value: its tag, its length, its contents.
pub(crate) fn value(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match contents.len() {
        short @ 0..=127 => out.push(short as u8),
        long => {
            let bytes = long.to_be_bytes();
            let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
            out.push(0x80 | (bytes.len() - first) as u8);
            out.extend_from_slice(&bytes[first..]);
        }
    }
    out.extend_from_slice(contents);
    out
}

pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    value(0x30, &parts.concat())
}

/// A positive number, given by its bytes.
pub(crate) fn integer(bytes: &[u8]) -> Vec<u8> {
    match bytes.first() {
        Some(0x80..) => value(0x02, &[&[0], bytes].concat()),
        _ => value(0x02, bytes),
    }
}

pub(crate) fn octets(contents: &[u8]) -> Vec<u8> {
    value(0x04, contents)
}

/// `unused` of the last byte's bits mean nothing.
pub(crate) fn bits(unused: u8, contents: &[u8]) -> Vec<u8> {
    value(0x03, &[&[unused], contents].concat())
}

pub(crate) fn object_id(contents: &[u8]) -> Vec<u8> {
    value(0x06, contents)
}

/// Within the century that `UTCTime` can say, that; else `GeneralizedTime`.
pub(crate) fn time(at: jiff::Timestamp) -> Vec<u8> {
    let zoned = at.to_zoned(jiff::tz::TimeZone::UTC);
    match zoned.year() {
        1950..=2049 => value(0x17, zoned.strftime("%y%m%d%H%M%SZ").to_string().as_bytes()),
        _ => value(0x18, zoned.strftime("%Y%m%d%H%M%SZ").to_string().as_bytes()),
    }
}

/// An extension of a certificate.
pub(crate) fn extension(id: &[u8], critical: bool, contents: &[u8]) -> Vec<u8> {
    let critical = if critical { value(0x01, &[0xff]) } else { Vec::new() };
    sequence(&[&object_id(id), &critical, &octets(contents)])
}
