//! Regular expressions as definitions write them, in Go's syntax, compiled when first asked: a thousand definitions have many
//! that no object ever meets. Knows no schema.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::OnceLock;

use regex::Regex;

#[derive(Debug)]
pub(crate) struct Pattern {
    source: Box<str>,
    compiled: OnceLock<Result<Box<Regex>, Box<str>>>,
}

impl Pattern {
    pub(crate) fn new(source: &str) -> Self {
        Self { source: source.into(), compiled: OnceLock::new() }
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The error says why the pattern is none.
    pub(crate) fn matches(&self, text: &str) -> Result<bool, &str> {
        match self.compiled.get_or_init(|| compile(&self.source).map(Box::new)) {
            Ok(regex) => Ok(regex.is_match(text)),
            Err(why) => Err(why),
        }
    }
}

/// What is wrong with a pattern, in the words of Go's parser as far as we tell faults apart.
pub(crate) fn fault(source: &str) -> Option<String> {
    compile(source).err().map(|why| why.into_string())
}

fn compile(source: &str) -> Result<Regex, Box<str>> {
    Regex::new(&translated(source)).map_err(|_| explained(source).into())
}

/// Our engine reads `\d` and its kin as Unicode, has set operations within brackets and no braces that stand for themselves.
fn translated(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 8);
    let mut rest = source.chars().peekable();
    let mut within = false;
    while let Some(char) = rest.next() {
        match char {
            '\\' => escaped(&mut out, &mut rest, within),
            '[' if within => {
                // `[:alpha:]` keeps its meaning, any other bracket within brackets is itself.
                out.push_str(if rest.peek() == Some(&':') { "[" } else { "\\[" });
                if rest.peek() == Some(&':') {
                    for char in rest.by_ref() {
                        out.push(char);
                        if char == ']' {
                            break;
                        }
                    }
                }
            }
            '[' => {
                within = true;
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if rest.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            ']' if within => {
                within = false;
                out.push(']');
            }
            '&' | '~' if within => {
                out.push('\\');
                out.push(char);
            }
            '-' if within && rest.peek() == Some(&'-') => out.push_str("\\-"),
            '{' if !within && !is_repetition(rest.clone()) => out.push_str("\\{"),
            other => out.push(other),
        }
    }
    out
}

fn escaped(out: &mut String, rest: &mut Peekable<Chars<'_>>, within: bool) {
    let class = |out: &mut String, members: &str, inverted: bool| match (within, inverted) {
        (true, false) => out.push_str(members),
        (false, false) => out.extend(["[", members, "]"]),
        (_, true) => out.extend(["[^", members, "]"]),
    };
    match rest.next() {
        Some('d') => class(out, "0-9", false),
        Some('D') => class(out, "0-9", true),
        Some('w') => class(out, "0-9A-Za-z_", false),
        Some('W') => class(out, "0-9A-Za-z_", true),
        Some('s') => class(out, "\\t\\n\\f\\r ", false),
        Some('S') => class(out, "\\t\\n\\f\\r ", true),
        Some('b') if !within => out.push_str("(?-u:\\b)"),
        Some('Q') => {
            let mut quoted = String::new();
            while let Some(char) = rest.next() {
                if char == '\\' && rest.next_if_eq(&'E').is_some() {
                    break;
                }
                quoted.push(char);
            }
            out.push_str(&regex::escape(&quoted));
        }
        // Go's escaped punctuation is itself; ours would read these two as edges of words.
        Some(char @ ('<' | '>')) => out.push(char),
        Some(char) => {
            out.push('\\');
            out.push(char);
        }
        None => out.push('\\'),
    }
}

/// `{3}`, `{3,}` or `{3,5}` follows.
fn is_repetition(mut rest: Peekable<Chars<'_>>) -> bool {
    let mut digits = 0;
    while rest.next_if(char::is_ascii_digit).is_some() {
        digits += 1;
    }
    if digits == 0 {
        return false;
    }
    if rest.next_if_eq(&',').is_some() {
        while rest.next_if(char::is_ascii_digit).is_some() {}
    }
    rest.next() == Some('}')
}

fn explained(source: &str) -> String {
    let (mut depth, mut within, mut rest) = (0_i32, None, source.char_indices());
    let mut last = None;
    while let Some((at, char)) = rest.next() {
        match char {
            '\\' => match rest.next() {
                Some((_, char))
                    if char.is_ascii_alphabetic() && !"aAbBCdDfnpPQEnrsStvwWxz".contains(char) =>
                {
                    return format!("error parsing regexp: invalid escape sequence: `\\{char}`");
                }
                Some(_) => {}
                None => {
                    return "error parsing regexp: trailing backslash at end of expression: ``".to_owned();
                }
            },
            '[' if within.is_none() => within = Some(at),
            ']' if within.is_some_and(|open| at > open + 1) => within = None,
            '(' if within.is_none() => {
                depth += 1;
                let rest = source.get(at..).unwrap_or_default();
                for perl in ["(?=", "(?!", "(?<=", "(?<!"] {
                    if rest.starts_with(perl) {
                        let shown = if perl.len() == 4 { "(?<" } else { perl };
                        return format!(
                            "error parsing regexp: invalid or unsupported Perl syntax: `{shown}`"
                        );
                    }
                }
            }
            ')' if within.is_none() => {
                depth -= 1;
                if depth < 0 {
                    return format!("error parsing regexp: unexpected ): `{source}`");
                }
            }
            '*' | '+' | '?'
                if within.is_none()
                    && matches!(last, None | Some('(' | '|'))
                    && !(char == '?' && last == Some('(')) =>
            {
                return format!("error parsing regexp: missing argument to repetition operator: `{char}`");
            }
            _ => {}
        }
        last = Some(char);
    }
    match (within, depth) {
        (Some(open), _) => {
            format!("error parsing regexp: missing closing ]: `{}`", source.get(open..).unwrap_or_default())
        }
        (None, 1..) => format!("error parsing regexp: missing closing ): `{source}`"),
        _ => format!("error parsing regexp: invalid expression: `{source}`"),
    }
}

#[cfg(test)]
mod tests;
