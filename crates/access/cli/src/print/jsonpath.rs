//! Templates of kubectl's JSONPath: text with paths in braces, ranges over lists, filters. Missing fields come to nothing. Pure.

mod path;

use serde_json::Value;

pub(crate) use self::path::Path;
use crate::error::CliError;

/// What `-o jsonpath=` names.
#[derive(Debug)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug)]
enum Part {
    Text(String),
    Path(Path),
    Range(Path, Vec<Part>),
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, CliError> {
        let mut open: Vec<(Path, Vec<Part>)> = Vec::new();
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let end = closing(behind).ok_or_else(|| wrong(text, "unclosed action"))?;
            let action = behind.get(..end).unwrap_or_default().trim();
            rest = behind.get(end + 1..).unwrap_or_default();
            if action == "end" {
                let (over, outer) = open.pop().ok_or_else(|| wrong(text, "not in range, nothing to end"))?;
                let inner = std::mem::replace(&mut parts, outer);
                parts.push(Part::Range(over, inner));
            } else if let Some(over) = action.strip_prefix("range ") {
                let over = Path::parse(over.trim()).map_err(|why| wrong(text, &why))?;
                open.push((over, std::mem::take(&mut parts)));
            } else {
                for piece in pieces(action) {
                    parts.push(match literal(piece) {
                        Some(text) => Part::Text(text),
                        None => Part::Path(Path::parse(piece).map_err(|why| wrong(text, &why))?),
                    });
                }
            }
        }
        if !open.is_empty() {
            return Err(wrong(text, "unclosed range"));
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }

    pub(crate) fn apply(&self, value: &Value) -> Result<String, CliError> {
        let mut out = String::new();
        write(&self.0, value, value, &mut out);
        Ok(out)
    }
}

impl Template {
    /// Everything that its paths lead to, without the text between them.
    pub(crate) fn values(&self, value: &Value) -> Vec<Value> {
        fn take(parts: &[Part], root: &Value, here: &Value, all: &mut Vec<Value>) {
            for part in parts {
                match part {
                    Part::Text(_) => {}
                    Part::Path(path) => all.extend(path.find(root, here).into_iter().cloned()),
                    Part::Range(over, inner) => {
                        over.find(root, here).into_iter().for_each(|item| take(inner, root, item, all));
                    }
                }
            }
        }
        let mut all = Vec::new();
        take(&self.0, value, value, &mut all);
        all
    }
}

/// A path alone, with or without braces and the first dot: `.metadata.name`, `{.metadata.name}`, `metadata.name`.
pub(crate) fn relaxed(text: &str) -> Result<Path, CliError> {
    let bare = text.trim();
    let bare = bare.strip_prefix('{').and_then(|bare| bare.strip_suffix('}')).unwrap_or(bare);
    if bare.contains(['{', '}']) {
        return Err(CliError::usage(
            "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
        ));
    }
    let whole = match bare.starts_with(['.', '[', '$', '@']) {
        true => bare.to_owned(),
        false => format!(".{bare}"),
    };
    Path::parse(&whole).map_err(|why| wrong(text, &why))
}

fn write(parts: &[Part], root: &Value, here: &Value, out: &mut String) {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Path(path) => {
                let found: Vec<String> = path.find(root, here).into_iter().map(told).collect();
                out.push_str(&found.join(" "));
            }
            Part::Range(over, inner) => {
                over.find(root, here).into_iter().for_each(|item| write(inner, root, item, out));
            }
        }
    }
}

/// A value as text: what is no text is JSON.
pub(crate) fn told(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Where the action ends, quotes minded.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '}') => return Some(at),
            _ => {}
        }
    }
    None
}

/// An action may hold several, one behind the other.
fn pieces(action: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut quote = None;
    let mut depth = 0_usize;
    let mut start = 0;
    for (at, letter) in action.char_indices() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '(') => depth += 1,
            (None, ']' | ')') => depth = depth.saturating_sub(1),
            (None, ' ') if depth == 0 => {
                found.push(action.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(action.get(start..).unwrap_or_default());
    found.retain(|piece| !piece.is_empty());
    found
}

/// `"\n"` is a text.
fn literal(piece: &str) -> Option<String> {
    let quote = piece.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let inner = piece.strip_prefix(quote)?.strip_suffix(quote)?;
    Some(unescaped(inner))
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

fn wrong(template: &str, why: &str) -> CliError {
    CliError::usage(format!("error parsing jsonpath {template}, {why}"))
}

#[cfg(test)]
mod tests;
