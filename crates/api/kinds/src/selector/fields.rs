//! Field selectors: `metadata.name=a,status.phase!=Running`.

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector {
    pub terms: Vec<FieldTerm>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldTerm {
    pub field: Box<str>,
    pub value: Box<str>,
    /// `=` or `!=`
    pub equal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("invalid selector: '{selector}'; can't understand '{part}'")]
    Form { selector: String, part: String },
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    #[error("invalid field selector: unescaped character in value: {0}")]
    Unescaped(u32),
}

impl FieldSelector {
    pub fn parse(text: &str) -> Result<Self, FieldError> {
        let mut terms = Vec::new();
        for part in split(text).into_iter().filter(|part| !part.is_empty()) {
            let Some((field, equal, value)) = term(part) else {
                return Err(FieldError::Form { selector: text.into(), part: part.into() });
            };
            terms.push(FieldTerm { field: field.into(), value: unescape(value)?.into(), equal });
        }
        Ok(Self { terms })
    }

    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// `field` gives the text of a field; a field that an object lacks is empty.
    pub fn matches<'f>(&self, field: impl Fn(&str) -> Option<&'f str>) -> bool {
        self.terms.iter().all(|term| (field(&term.field).unwrap_or_default() == &*term.value) == term.equal)
    }

    /// The value that a field must have, if the selector says so: a list by name is a read.
    pub fn requires(&self, field: &str) -> Option<&str> {
        self.terms.iter().find(|term| term.equal && &*term.field == field).map(|term| &*term.value)
    }
}

/// At commas that no backslash precedes.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

fn term(part: &str) -> Option<(&str, bool, &str)> {
    let at = part
        .char_indices()
        .find(|(at, _)| part.get(*at..).is_some_and(|rest| rest.starts_with("!=") || rest.starts_with('=')))?
        .0;
    let (field, rest) = part.split_at_checked(at)?;
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((field, false, value));
    }
    Some((field, true, rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?))
}

fn unescape(value: &str) -> Result<String, FieldError> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('\\' | ',' | '=')) => plain.push(next),
                Some(next) => return Err(FieldError::Escape(format!("\\{next}"))),
                None => return Err(FieldError::Escape("\\".into())),
            },
            ',' | '=' => return Err(FieldError::Unescaped(u32::from(c))),
            other => plain.push(other),
        }
    }
    Ok(plain)
}
