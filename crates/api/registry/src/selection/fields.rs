//! Field selectors, as text in a request: `metadata.name=a,status.phase!=Failed`.

/// One condition.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) field: String,
    pub(super) value: String,
    pub(super) equal: bool,
}

pub(super) fn parse(text: &str) -> Result<Vec<Term>, String> {
    split(text).into_iter().filter(|part| !part.is_empty()).map(|part| term(text, part)).collect()
}

/// A comma behind a backslash is part of a value.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        if byte == b',' && !escaped {
            parts.extend(text.get(start..at));
            start = at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    parts.extend(text.get(start..));
    parts
}

fn term(whole: &str, part: &str) -> Result<Term, String> {
    let not_understood = || format!("invalid selector: '{whole}'; can't understand '{part}'");
    let at = part.find(['=', '!']).ok_or_else(not_understood)?;
    let (field, rest) = part.split_at(at);
    let (equal, value) = match rest {
        rest if rest.starts_with("!=") => (false, &rest[2..]),
        rest if rest.starts_with("==") => (true, &rest[2..]),
        rest if rest.starts_with('=') => (true, &rest[1..]),
        _ => return Err(not_understood()),
    };
    Ok(Term { field: field.to_owned(), value: unescape(value).ok_or_else(not_understood)?, equal })
}

fn unescape(value: &str) -> Option<String> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(next) = chars.next() {
        match next {
            '\\' => out.push(chars.next().filter(|escaped| matches!(escaped, '\\' | ',' | '='))?),
            ',' | '=' => return None,
            other => out.push(other),
        }
    }
    Some(out)
}
