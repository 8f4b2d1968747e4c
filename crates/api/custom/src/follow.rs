//! Follows a path through a schema, as selectable fields and rules name places: `.spec.labels['app']`.

use crate::schema::Schema;

/// How the path is printed and what it leads to, or why it leads nowhere.
pub(crate) fn follow<'s>(
    given: &str,
    schema: &'s Schema,
    brackets: bool,
) -> Result<(String, &'s Schema), String> {
    let end = || "unexpected end of JSON path".to_owned();
    let (mut printed, mut schema) = (String::new(), schema);
    let mut tokens = Tokens(given);
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or_else(end)?.to_owned(),
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or_else(end)?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.filter(|_| quoted.len() > 1);
                let name = unescaped(
                    inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?,
                )?;
                match tokens.next().ok_or_else(end)? {
                    "]" => name,
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let nowhere = || "does not refer to a valid field".to_owned();
        if schema.properties.is_empty() {
            schema = schema.each().ok_or_else(nowhere)?;
            printed.push('[');
            printed.push_str(&name);
            printed.push(']');
        } else {
            schema = schema.property(&name).ok_or_else(nowhere)?;
            if !printed.is_empty() {
                printed.push('.');
            }
            printed.push_str(&name);
        }
    }
    Ok((printed, schema))
}

struct Tokens<'t>(&'t str);

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let first = self.0.chars().next()?;
        let length = if matches!(first, '.' | '[' | ']') {
            1
        } else if first == '\'' {
            let mut before = '\'';
            let closing = self.0.char_indices().skip(1).find(|&(_, char)| {
                let closes = char == '\'' && before != '\\';
                before = char;
                closes
            });
            closing.map_or(self.0.len(), |(at, _)| at + 1)
        } else {
            self.0.find(['.', '[', ']']).unwrap_or(self.0.len())
        };
        let (token, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(token)
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(char @ ('\'' | '\\')) => char,
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => '\\',
        });
    }
    Ok(out)
}
