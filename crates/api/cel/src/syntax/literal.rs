//! What a number or string token means: its value, or why it has none.

/// The characters of a string or bytes token, escapes resolved. A byte escape yields a byte, all else UTF-8.
pub(crate) fn unquote(token: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let mut rest = token;
    let mut raw = false;
    while let Some(prefix) = rest.chars().next().filter(|c| !matches!(c, '"' | '\'')) {
        raw |= matches!(prefix, 'r' | 'R');
        rest = &rest[1..];
    }
    let width =
        if rest.len() >= 6 && (rest.starts_with("\"\"\"") || rest.starts_with("'''")) { 3 } else { 1 };
    let Some(inner) = rest.get(width..rest.len().saturating_sub(width)) else {
        return Err("unable to unescape string");
    };
    // A line ends with a line feed, however it was written.
    let inner = inner.replace("\r\n", "\n").replace('\r', "\n");
    if raw {
        return Ok(inner.into_bytes());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(next) = chars.next() {
        if next == '\\' {
            escape(&mut chars, bytes, &mut out)?;
        } else {
            push(&mut out, next);
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

fn escape(chars: &mut std::str::Chars<'_>, bytes: bool, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let bad = "unable to unescape string";
    let kind = chars.next().ok_or("unable to unescape string, found '\\' as last character")?;
    let (digits, radix) = match kind {
        'a' => return one(out, 7),
        'b' => return one(out, 8),
        'f' => return one(out, 12),
        'n' => return one(out, b'\n'),
        'r' => return one(out, b'\r'),
        't' => return one(out, b'\t'),
        'v' => return one(out, 11),
        '\\' | '\'' | '"' | '`' | '?' => {
            push(out, kind);
            return Ok(());
        }
        'x' | 'X' => (2, 16),
        'u' if !bytes => (4, 16),
        'U' if !bytes => (8, 16),
        '0'..='3' => (2, 8),
        _ => return Err(bad),
    };
    let mut code = if radix == 8 { kind.to_digit(8).unwrap_or(0) } else { 0 };
    for _ in 0..digits {
        let digit = chars.next().and_then(|c| c.to_digit(radix)).ok_or(bad)?;
        code = code.checked_mul(radix).and_then(|code| code.checked_add(digit)).ok_or(bad)?;
    }
    if bytes {
        return one(out, u8::try_from(code).map_err(|_| bad)?);
    }
    push(out, char::from_u32(code).ok_or(bad)?);
    Ok(())
}

fn one(out: &mut Vec<u8>, byte: u8) -> Result<(), &'static str> {
    out.push(byte);
    Ok(())
}

/// A decimal or hexadecimal number, with its sign.
pub(crate) fn int(text: &str, negative: bool) -> Option<i64> {
    let number = uint(text).map(i128::from)?;
    i64::try_from(if negative { -number } else { number }).ok()
}

pub(crate) fn uint(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}
