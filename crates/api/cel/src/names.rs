//! How a field's name is written in an expression where it is no identifier: `foo-bar` as `foo__dash__bar`.
//! Knows nothing of which fields there are.

/// Words that CEL keeps for itself.
pub const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const ESCAPES: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// The identifier under which expressions reach a field; `None` if no expression can.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        if let Some((plain, written)) = ESCAPES.iter().find(|(plain, _)| rest.starts_with(plain)) {
            escaped.push_str(written);
            rest = &rest[plain.len()..];
        } else if next.is_ascii_alphanumeric() || next == '_' {
            escaped.push(next);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(escaped)
}

/// The field's own name behind an identifier; `None` if the identifier holds an escape that does not exist.
pub fn unescape(identifier: &str) -> Option<String> {
    let mut name = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let inner = &rest[start + 2..];
        let word = inner.split('_').next().unwrap_or_default();
        if word.is_empty() || !inner[word.len()..].starts_with("__") {
            // No escape begins here: the first underscore stands for itself.
            name.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        }
        name.push_str(&rest[..start]);
        let whole = format!("__{word}__");
        match ESCAPES.iter().find(|(_, written)| *written == whole) {
            Some((plain, _)) => name.push_str(plain),
            None if RESERVED.contains(&word) && whole == identifier => name.push_str(word),
            None => return None,
        }
        rest = &inner[word.len() + 2..];
    }
    name.push_str(rest);
    Some(name)
}

#[cfg(test)]
mod tests;
