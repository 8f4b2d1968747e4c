//! A template's text into pieces: what stands between the braces into tokens, the rest as it is, trimmed where a brace has a dash.

/// What a template is made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Action(Vec<Token>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) what: What,
    /// No blank before it: `.a.b` is one thing, `.a .b` are two.
    pub(super) glued: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A keyword or the name of a function.
    Word(String),
    /// `.name`
    Field(String),
    Dot,
    /// `$name`, or `$` alone.
    Variable(String),
    Text(String),
    Int(i64),
    Float(f64),
    Open,
    Close,
    Pipe,
    Declare,
    Assign,
    Comma,
}

/// All pieces of a template, in order.
pub(super) fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let mut found = Vec::new();
    let (mut rest, mut trim) = (template, false);
    while let Some(at) = rest.find("{{") {
        let (text, action) = rest.split_at(at);
        let action = action.get(2..).unwrap_or_default();
        let (inside, cut) = match action.strip_prefix('-') {
            Some(inside) if inside.starts_with(char::is_whitespace) => (inside, true),
            _ => (action, false),
        };
        keep(text, trim, cut, &mut found);
        (rest, trim) = match inside.trim_start().strip_prefix("/*") {
            Some(comment) => after_comment(comment)?,
            None => {
                let (tokens, rest, trim) = tokens(inside)?;
                found.push(Piece::Action(tokens));
                (rest, trim)
            }
        };
    }
    keep(rest, trim, false, &mut found);
    Ok(found)
}

fn keep(text: &str, trim_start: bool, trim_end: bool, found: &mut Vec<Piece>) {
    let text = if trim_start { text.trim_start() } else { text };
    let text = if trim_end { text.trim_end() } else { text };
    if !text.is_empty() {
        found.push(Piece::Text(text.to_owned()));
    }
}

/// What follows a comment, and whether it loses its blanks.
fn after_comment(comment: &str) -> Result<(&str, bool), String> {
    let (_, rest) = comment.split_once("*/").ok_or("unclosed comment")?;
    if let Some(rest) = rest.strip_prefix("}}") {
        return Ok((rest, false));
    }
    match rest.trim_start().strip_prefix("-}}") {
        Some(behind) if rest.starts_with(char::is_whitespace) => Ok((behind, true)),
        _ => Err("comment ends before closing delimiter".to_owned()),
    }
}

/// The tokens of an action up to its braces, what follows these, and whether that loses its blanks.
fn tokens(inside: &str) -> Result<(Vec<Token>, &str, bool), String> {
    let mut found = Vec::new();
    let mut rest = inside;
    let mut glued = false;
    loop {
        let blank = rest.trim_start();
        if blank.len() < rest.len() {
            glued = false;
            if let Some(behind) = blank.strip_prefix("-}}") {
                return Ok((found, behind, true));
            }
        }
        rest = blank;
        if let Some(behind) = rest.strip_prefix("}}") {
            return Ok((found, behind, false));
        }
        let (what, behind) = token(rest)?;
        found.push(Token { what, glued });
        (rest, glued) = (behind, true);
    }
}

fn token(rest: &str) -> Result<(What, &str), String> {
    let mut letters = rest.chars();
    let first = letters.next().ok_or("unclosed action")?;
    let behind = letters.as_str();
    let simple = |what| Ok((what, behind));
    match first {
        '(' => simple(What::Open),
        ')' => simple(What::Close),
        '|' => simple(What::Pipe),
        ',' => simple(What::Comma),
        '=' => simple(What::Assign),
        ':' => match behind.strip_prefix('=') {
            Some(behind) => Ok((What::Declare, behind)),
            None => Err("expected :=".to_owned()),
        },
        '"' => quoted(behind, '"'),
        '\'' => match quoted(behind, '\'')? {
            (What::Text(text), behind) if text.chars().count() == 1 => {
                Ok((What::Int(text.chars().next().map_or(0, |letter| i64::from(u32::from(letter)))), behind))
            }
            _ => Err("malformed character constant".to_owned()),
        },
        '`' => match behind.split_once('`') {
            Some((text, behind)) => Ok((What::Text(text.to_owned()), behind)),
            None => Err("unterminated raw quoted string".to_owned()),
        },
        '$' => {
            let (name, behind) = name(behind);
            Ok((What::Variable(name.to_owned()), behind))
        }
        '.' if behind.starts_with(is_letter) => {
            let (name, behind) = name(behind);
            Ok((What::Field(name.to_owned()), behind))
        }
        '.' if !behind.starts_with(|letter: char| letter.is_ascii_digit()) => simple(What::Dot),
        '+' | '-' | '.' | '0'..='9' => number(rest),
        letter if is_letter(letter) => {
            let (name, behind) = name(rest);
            Ok((What::Word(name.to_owned()), behind))
        }
        other => Err(format!("unexpected {other:?} in operand")),
    }
}

fn is_letter(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

fn name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter| !is_letter(letter)).unwrap_or(text.len()))
}

fn number(text: &str) -> Result<(What, &str), String> {
    let mut before = ' ';
    let end = text.find(|letter: char| {
        let sign = matches!(letter, '+' | '-') && matches!(before, ' ' | 'e' | 'E');
        before = letter;
        !(sign || letter == '.' || is_letter(letter))
    });
    let (digits, behind) = text.split_at(end.unwrap_or(text.len()));
    let plain = digits.replace('_', "");
    let (sign, bare) = match plain.strip_prefix('-') {
        Some(bare) => (-1, bare),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let whole = [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(mark, base)| Some((bare.strip_prefix(mark)?, base)))
        .map_or_else(|| bare.parse::<i64>().ok(), |(digits, base)| i64::from_str_radix(digits, base).ok());
    let what = match (whole, plain.parse::<f64>()) {
        (Some(whole), _) => What::Int(sign * whole),
        (None, Ok(number)) if bare.starts_with(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) => {
            What::Float(number)
        }
        _ => return Err(format!("bad number syntax: {digits:?}")),
    };
    Ok((what, behind))
}

/// A text with Go's escapes, up to its closing quote.
fn quoted(text: &str, end: char) -> Result<(What, &str), String> {
    let mut letters = text.chars();
    let mut found = String::new();
    while let Some(letter) = letters.next() {
        let escaped = match letter {
            letter if letter == end => return Ok((What::Text(found), letters.as_str())),
            '\n' => break,
            '\\' => letters.next(),
            plain => {
                found.push(plain);
                continue;
            }
        };
        let mut code = |digits: usize| {
            let code: String = letters.by_ref().take(digits).collect();
            u32::from_str_radix(&code, 16).ok().and_then(char::from_u32)
        };
        let meant = match escaped {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('a') => Some('\x07'),
            Some('b') => Some('\x08'),
            Some('f') => Some('\x0c'),
            Some('v') => Some('\x0b'),
            Some('x') => code(2),
            Some('u') => code(4),
            Some('U') => code(8),
            Some(same @ ('\\' | '"' | '\'')) => Some(same),
            _ => None,
        };
        found.push(meant.ok_or("unknown escape in quoted string")?);
    }
    Err("unterminated quoted string".to_owned())
}
