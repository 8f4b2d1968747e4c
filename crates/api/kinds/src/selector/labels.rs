//! The grammar of label selectors in queries, with upstream's messages for what does not fit it.

use std::fmt;

/// `key operator values`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub key: Box<str>,
    pub operator: Operator,
    pub values: Vec<Box<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=` and `==` too.
    In,
    /// `!=` too.
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    #[error("found '{found}', expected: {expected}")]
    Between { found: String, expected: &'static str },
    #[error("unable to parse requirement: found '{found}'{expected}")]
    Within { found: String, expected: &'static str },
    #[error("unable to parse requirement: <nil>: Invalid value: {key:?}: {why}")]
    Key { key: Box<str>, why: String },
    #[error("unable to parse requirement: values: Invalid value: {values}: {why}")]
    Values { values: String, why: &'static str },
    #[error("unable to parse requirement: values[{at}][{key}]: Invalid value: {value:?}: {why}")]
    Value { at: usize, key: Box<str>, value: Box<str>, why: String },
    #[error(
        "unable to parse requirement: values[{at}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
    )]
    NoInteger { at: usize, value: Box<str> },
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    /// `=`, `==`, `!=`, `!`, `<`, `>`, `,`, `(`, `)`
    Sign(&'t str),
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(text) | Token::Sign(text) => f.write_str(text),
            Token::End => Ok(()),
        }
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_sign = |c: char| "=!(),<>".contains(c);
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let signs = ["==", "!=", "=", "!", "(", ")", ",", "<", ">"];
        let length = match signs.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) if is_sign(first) => sign.len(),
            _ => rest.find(|c: char| is_sign(c) || c.is_whitespace()).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length.max(first.len_utf8()));
        found.push(if is_sign(first) { Token::Sign(token) } else { Token::Word(token) });
        rest = after.trim_start();
    }
    found
}

struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    at: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, LabelError> {
        let within =
            |found: Token<'_>, expected| Err(LabelError::Within { found: found.to_string(), expected });
        let absent = self.peek() == Token::Sign("!");
        if absent {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other => return within(other, ", expected: identifier"),
        };
        if absent {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        let operator = match self.peek() {
            Token::End | Token::Sign(",") => return Requirement::new(key, Operator::Exists, Vec::new()),
            Token::Sign("=" | "==") | Token::Word("in") => Operator::In,
            Token::Sign("!=") | Token::Word("notin") => Operator::NotIn,
            Token::Sign(">") => Operator::GreaterThan,
            Token::Sign("<") => Operator::LessThan,
            other => return within(other, ", expected: in, notin, =, ==, !=, gt, lt"),
        };
        let values = match self.take() {
            Token::Word(_) => self.set()?,
            _ => vec![self.exact()?],
        };
        Requirement::new(key, operator, values)
    }

    /// What follows a sign; nothing is the empty value.
    fn exact(&mut self) -> Result<Box<str>, LabelError> {
        match self.peek() {
            Token::End | Token::Sign(",") => Ok("".into()),
            Token::Word(value) => {
                self.take();
                Ok(value.into())
            }
            other => Err(LabelError::Within { found: other.to_string(), expected: ", expected: identifier" }),
        }
    }

    /// `(a, b)`; a place without a value is the empty value.
    fn set(&mut self) -> Result<Vec<Box<str>>, LabelError> {
        let within =
            |found: Token<'_>, expected| Err(LabelError::Within { found: found.to_string(), expected });
        match self.take() {
            Token::Sign("(") => {}
            other => return within(other, " expected: '('"),
        }
        let mut values: Vec<Box<str>> = Vec::new();
        loop {
            let value: Box<str> = match self.peek() {
                Token::Word(value) => {
                    self.take();
                    value.into()
                }
                Token::Sign("," | ")") => "".into(),
                other => return within(other, ", expected: ',', ')' or identifier"),
            };
            if !values.contains(&value) {
                values.push(value);
            }
            match self.take() {
                Token::Sign(",") => {}
                Token::Sign(")") => break,
                other => return within(other, ", expected: ',' or ')'"),
            }
        }
        values.sort();
        Ok(values)
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, LabelError> {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let mut requirements = Vec::new();
    let between =
        |found: Token<'_>, expected| Err(LabelError::Between { found: found.to_string(), expected });
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Sign("!") => {}
            Token::End if requirements.is_empty() => return Ok(requirements),
            other => return between(other, "!, identifier, or 'end of string'"),
        }
        requirements.push(parser.requirement()?);
        match parser.take() {
            Token::End => return Ok(requirements),
            Token::Sign(",") => {
                let next = parser.peek();
                if !matches!(next, Token::Word(_) | Token::Sign("!")) {
                    return between(next, "identifier after ','");
                }
            }
            other => return between(other, "',' or 'end of string'"),
        }
    }
}
