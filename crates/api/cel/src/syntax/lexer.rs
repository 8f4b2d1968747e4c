//! Text to tokens. Knows the shapes of words and not what they mean together.

use super::source::Source;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Int(String),
    Uint(String),
    Float(String),
    /// With prefix and quotes, as written.
    String(String),
    Bytes(String),
    Ident(String),
    /// Between backticks.
    Quoted(String),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) at: usize,
}

/// Longest first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%",
];

impl Token {
    /// How messages show it.
    pub(crate) fn text(&self) -> &str {
        match self {
            Token::Int(text) | Token::Uint(text) | Token::Float(text) | Token::String(text) => text,
            Token::Bytes(text) | Token::Ident(text) | Token::Quoted(text) => text,
            Token::Symbol(text) => text,
            Token::End => "<EOF>",
        }
    }
}

/// All tokens, the last one `End`. What is no token is reported and passed over.
pub(crate) fn tokens(source: &mut Source) -> Vec<Placed> {
    let mut found = Vec::new();
    let mut mistakes = Vec::new();
    let mut lexer = Lexer { chars: &source.chars, at: 0 };
    loop {
        lexer.skip_blanks();
        let at = lexer.at;
        if at >= lexer.chars.len() {
            found.push(Placed { token: Token::End, at });
            break;
        }
        match lexer.next() {
            Ok(token) => found.push(Placed { token, at }),
            Err(until) => {
                let text: String = lexer.chars[at..until].iter().collect();
                mistakes
                    .push((at, format!("Syntax error: token recognition error at: '{}'", escaped(&text))));
                lexer.at = until;
            }
        }
    }
    for (at, message) in mistakes {
        source.report(at, message);
    }
    found
}

fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r")
}

struct Lexer<'s> {
    chars: &'s [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                ' ' | '\t' | '\r' | '\n' | '\u{c}' if self.at < self.chars.len() => self.at += 1,
                '/' if self.peek(1) == '/' => {
                    while self.at < self.chars.len() && self.peek(0) != '\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn taken(&self, from: usize) -> String {
        self.chars[from..self.at].iter().collect()
    }

    /// The error is where reading can go on.
    fn next(&mut self) -> Result<Token, usize> {
        let next = self.peek(0);
        if next.is_ascii_digit() || next == '.' && self.peek(1).is_ascii_digit() {
            return Ok(self.number());
        }
        if let Some(token) = self.string() {
            return token;
        }
        if next.is_ascii_alphabetic() || next == '_' {
            let from = self.at;
            while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == '_' {
                self.at += 1;
            }
            return Ok(Token::Ident(self.taken(from)));
        }
        if next == '`' {
            return self.quoted();
        }
        for symbol in SYMBOLS {
            if symbol.chars().enumerate().all(|(ahead, wanted)| self.peek(ahead) == wanted) {
                self.at += symbol.len();
                return Ok(Token::Symbol(symbol));
            }
        }
        // Of a symbol of two characters, the one that does not fit is passed over as well.
        let half = matches!(next, '=' | '&' | '|');
        Err((self.at + 1 + usize::from(half)).min(self.chars.len()))
    }

    fn quoted(&mut self) -> Result<Token, usize> {
        let from = self.at;
        self.at += 1;
        while self.peek(0).is_ascii_alphanumeric() || matches!(self.peek(0), '_' | '.' | '-' | '/' | ' ') {
            self.at += 1;
        }
        if self.peek(0) != '`' || self.at == from + 1 {
            return Err(self.at.max(from + 1));
        }
        self.at += 1;
        Ok(Token::Quoted(self.taken(from)))
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Token {
        let from = self.at;
        if self.peek(0) == '0' && self.peek(1) == 'x' && self.peek(2).is_ascii_hexdigit() {
            self.at += 2;
            while self.peek(0).is_ascii_hexdigit() {
                self.at += 1;
            }
            return self.whole(from);
        }
        self.digits();
        let mut float = false;
        if self.peek(0) == '.' && self.peek(1).is_ascii_digit() {
            float = true;
            self.at += 1;
            self.digits();
        }
        let exponent = matches!(self.peek(0), 'e' | 'E');
        let signed = matches!(self.peek(1), '+' | '-');
        if exponent && (self.peek(1).is_ascii_digit() || signed && self.peek(2).is_ascii_digit()) {
            float = true;
            self.at += if signed { 2 } else { 1 };
            self.digits();
        }
        if float { Token::Float(self.taken(from)) } else { self.whole(from) }
    }

    fn whole(&mut self, from: usize) -> Token {
        let text = self.taken(from);
        if matches!(self.peek(0), 'u' | 'U') {
            self.at += 1;
            return Token::Uint(text);
        }
        Token::Int(text)
    }

    /// How long the escape here is, or how far it could be read.
    fn escape(&self) -> Result<usize, usize> {
        let digits = |from: usize, count: usize, radix: u32| match (from..from + count)
            .find(|ahead| !self.peek(*ahead).is_digit(radix))
        {
            Some(wrong) => Err(wrong + 1),
            None => Ok(from + count),
        };
        match self.peek(1) {
            'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`' => Ok(2),
            'x' | 'X' => digits(2, 2, 16),
            'u' => digits(2, 4, 16),
            'U' => digits(2, 8, 16),
            '0'..='3' => digits(1, 3, 8),
            _ => Err(2),
        }
    }

    /// `None` if no string begins here.
    fn string(&mut self) -> Option<Result<Token, usize>> {
        let (mut ahead, mut raw, mut bytes) = (0, false, false);
        loop {
            match self.peek(ahead) {
                'r' | 'R' if !raw => raw = true,
                'b' | 'B' if !bytes => bytes = true,
                '"' | '\'' => break,
                _ => return None,
            }
            ahead += 1;
        }
        let from = self.at;
        let quote = self.peek(ahead);
        let triple = self.peek(ahead + 1) == quote && self.peek(ahead + 2) == quote;
        self.at += ahead + if triple { 3 } else { 1 };
        loop {
            if self.at >= self.chars.len() {
                return Some(Err(self.chars.len()));
            }
            match self.peek(0) {
                '\\' if !raw => match self.escape() {
                    Ok(length) => self.at += length,
                    Err(length) => return Some(Err((self.at + length).min(self.chars.len()))),
                },
                '\n' | '\r' if !triple => return Some(Err(self.at)),
                next if next == quote && !triple => {
                    self.at += 1;
                    break;
                }
                next if next == quote && self.peek(1) == quote && self.peek(2) == quote => {
                    self.at += 3;
                    break;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.chars.len());
        let text = self.taken(from);
        Some(Ok(if bytes { Token::Bytes(text) } else { Token::String(text) }))
    }
}
