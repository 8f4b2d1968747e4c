//! Tokens to a tree, by precedence. Stops at the first mistake, and at trees too deep to walk safely.

use std::sync::Arc;

use super::ast::{Entry, Expr, FieldInit, Item, Kind, Literal, Select};
use super::lexer::{Placed, Token, tokens};
use super::source::Source;
use super::{literal, macros};
use crate::names::RESERVED;

/// How deep a tree may be. Every later walk recurses as deep, so this also keeps the stack in bounds.
pub(crate) const MAX_DEPTH: u16 = 250;
/// How deep brackets may be nested; the parser's own frames are larger than those of later walks.
const MAX_NESTED: u16 = 100;

/// What could begin an expression, as messages list it.
const BEGINNINGS: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// Operators with how tightly they bind; each call is written `_op_`. Tighter than all of these are `!`, `-` and members.
const OPERATORS: [(&str, &str, u8); 14] = [
    ("||", "_||_", 1),
    ("&&", "_&&_", 2),
    ("<", "_<_", 3),
    ("<=", "_<=_", 3),
    (">=", "_>=_", 3),
    (">", "_>_", 3),
    ("==", "_==_", 3),
    ("!=", "_!=_", 3),
    ("in", "@in", 3),
    ("+", "_+_", 4),
    ("-", "_-_", 4),
    ("*", "_*_", 5),
    ("/", "_/_", 5),
    ("%", "_%_", 5),
];

/// A mistake was reported; there is no tree.
pub(crate) struct Failed;

pub(crate) struct Parser<'s> {
    source: &'s mut Source,
    tokens: Vec<Placed>,
    next: usize,
    nested: u16,
}

pub(crate) fn parse(source: &mut Source) -> Result<Expr, Failed> {
    let tokens = tokens(source);
    let mut parser = Parser { source, tokens, next: 0, nested: 0 };
    let expr = parser.expr()?;
    if parser.peek() != &Token::End {
        let found = parser.peek().text().to_owned();
        let at = parser.at();
        let closes = matches!(found.as_str(), ")" | "]" | "}");
        let kind = if closes || parser.next + 1 >= parser.tokens.len() { "extraneous" } else { "mismatched" };
        let kind = if parser.tokens.len() - parser.next == 2 { "extraneous" } else { kind };

        parser.source.report(at, format!("Syntax error: {kind} input '{found}' expecting <EOF>"));
        return Err(Failed);
    }
    if parser.source.has_issues() { Err(Failed) } else { Ok(expr) }
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |placed| &placed.token)
    }

    fn peek_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    pub(super) fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(self.source.chars.len(), |placed| placed.at)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn took(&mut self, symbol: &str) -> bool {
        let there = self.peek_symbol(symbol);
        self.next += usize::from(there);
        there
    }

    pub(super) fn fail<T>(&mut self, at: usize, message: impl Into<String>) -> Result<T, Failed> {
        self.source.report(at, message);
        Err(Failed)
    }

    /// Reports the token here. It is called extraneous if without it all would be well.
    fn unexpected<T>(&mut self, wanted: &str) -> Result<T, Failed> {
        let (at, found) = (self.at(), self.peek().text().to_owned());
        let after = self.tokens.get(self.next + 1).map(|placed| &placed.token);
        let well = after.is_some_and(|after| match after {
            Token::Symbol(symbol) => wanted.contains(&format!("'{symbol}'")),
            Token::End | Token::Quoted(_) => false,
            Token::Ident(word) if word == "in" => false,
            _ => wanted.contains("IDENTIFIER"),
        });
        let kind = if well { "extraneous" } else { "mismatched" };
        self.fail(at, format!("Syntax error: {kind} input '{found}' expecting {wanted}"))
    }

    fn expect(&mut self, symbol: &str) -> Result<usize, Failed> {
        let at = self.at();
        if self.took(symbol) {
            return Ok(at);
        }
        let (found, end) = (self.peek().text().to_owned(), *self.peek() == Token::End);
        let begins =
            matches!(self.peek(), Token::Int(_) | Token::Uint(_) | Token::Float(_) | Token::String(_))
                || matches!(self.peek(), Token::Ident(word) if word != "in");
        if end && symbol != ":" || begins && symbol == ":" {
            return self.fail(at, format!("Syntax error: missing '{symbol}' at '{found}'"));
        }
        self.unexpected(&format!("'{symbol}'"))
    }

    /// The end of something whose parts are separated by commas.
    fn close(&mut self, symbol: &str) -> Result<(), Failed> {
        match (self.took(symbol), symbol) {
            (true, _) => Ok(()),
            (false, ")") => self.unexpected("')'"),
            (false, _) => self.unexpected(&format!("{{'{symbol}', ','}}")),
        }
    }

    pub(super) fn made(&mut self, at: usize, kind: Kind) -> Result<Expr, Failed> {
        self.bounded(Expr::new(at, kind))
    }

    pub(super) fn call(
        &mut self,
        at: usize,
        name: &str,
        target: Option<Expr>,
        args: Vec<Expr>,
    ) -> Result<Expr, Failed> {
        self.bounded(Expr::call(at, name, target, args))
    }

    fn bounded(&mut self, expr: Expr) -> Result<Expr, Failed> {
        if expr.depth > MAX_DEPTH {
            return self.fail(expr.at, format!("expression recursion limit exceeded: {MAX_DEPTH}"));
        }
        Ok(expr)
    }

    fn expr(&mut self) -> Result<Expr, Failed> {
        self.nested += 1;
        if self.nested > MAX_NESTED {
            let at = self.at();
            return self.fail(at, format!("expression recursion limit exceeded: {MAX_NESTED}"));
        }
        // A chain of choices is read in a loop and put together from its end.
        let mut choices = Vec::new();
        let mut expr = loop {
            let part = self.binary(1)?;
            let at = self.at();
            if !self.took("?") {
                break part;
            }
            let yes = self.binary(1)?;
            self.expect(":")?;
            choices.push((at, part, yes));
        };
        while let Some((at, condition, yes)) = choices.pop() {
            expr = self.call(at, "_?_:_", None, vec![condition, yes, expr])?;
        }
        self.nested -= 1;
        Ok(expr)
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        let text = match self.peek() {
            Token::Symbol(text) => *text,
            Token::Ident(word) if word == "in" => "in",
            _ => return None,
        };
        OPERATORS.iter().find(|(operator, ..)| *operator == text).map(|(_, name, binds)| (*name, *binds))
    }

    /// Operators that bind at least this tightly. One function for all levels keeps the stack flat.
    fn binary(&mut self, least: u8) -> Result<Expr, Failed> {
        let mut left = self.unary()?;
        while let Some((name, binds)) = self.operator().filter(|(_, binds)| *binds >= least) {
            let at = self.at();
            self.next += 1;
            let right = self.binary(binds + 1)?;
            left = self.joined(at, name, left, right)?;
        }
        Ok(left)
    }

    /// All terms of a chain of `&&` or `||` stand side by side, so that a long chain is no deep tree.
    fn joined(&mut self, at: usize, name: &str, left: Expr, right: Expr) -> Result<Expr, Failed> {
        match left {
            Expr { kind: Kind::Call(call), at, .. }
                if matches!(name, "_&&_" | "_||_") && *call.function == *name =>
            {
                let mut terms = call.args;
                terms.push(right);
                self.call(at, name, None, terms)
            }
            left => self.call(at, name, None, vec![left, right]),
        }
    }

    fn unary(&mut self) -> Result<Expr, Failed> {
        for (symbol, name) in [("!", "!_"), ("-", "-_")] {
            if !self.peek_symbol(symbol) {
                continue;
            }
            let at = self.at();
            let mut count = 0;
            while self.peek_symbol(symbol) && !self.at_negative_number() {
                self.next += 1;
                count += 1;
            }
            let operand = self.member()?;
            // Two of them undo each other.
            return if count % 2 == 0 { Ok(operand) } else { self.call(at, name, None, vec![operand]) };
        }
        self.member()
    }

    /// A minus right before a number belongs to the number.
    fn at_negative_number(&self) -> bool {
        let after = self.tokens.get(self.next + 1).map(|placed| &placed.token);
        self.peek_symbol("-") && matches!(after, Some(Token::Int(_) | Token::Float(_)))
    }

    fn member(&mut self) -> Result<Expr, Failed> {
        let mut expr = self.primary()?;
        loop {
            let at = self.at();
            if self.took(".") {
                let optional = self.took("?");
                let name = self.field_name()?;
                let open = self.at();
                if !optional && self.took("(") {
                    let args = self.list_until(")")?;
                    expr = macros::member(self, open, &name, expr, args)?;
                    continue;
                }
                let mode = if optional { Select::Optional } else { Select::Value };
                expr = self.made(at, Kind::Select { operand: Box::new(expr), field: name, mode })?;
            } else if self.took("[") {
                let name = if self.took("?") { "_[?_]" } else { "_[_]" };
                if *self.peek() == Token::End || self.peek_symbol("]") {
                    return self.unexpected(&BEGINNINGS.replace("'!', ", "'!', '?', "));
                }
                let index = self.expr()?;
                self.expect("]")?;
                expr = self.call(at, name, None, vec![expr, index])?;
            } else if self.peek_symbol("{") && expr.qualified_name().is_some() {
                self.next += 1;
                expr = self.structure(at, &expr)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn field_name(&mut self) -> Result<Arc<str>, Failed> {
        let at = self.at();
        match self.take() {
            // `in` and the like are words of the grammar, other reserved words are fine as fields.
            Token::Ident(name) if !matches!(name.as_str(), "true" | "false" | "null" | "in") => {
                Ok(name.into())
            }
            Token::Quoted(_) => self.fail(at, "unsupported syntax: '`'"),
            other => {
                self.next -= 1;
                let found = if other == Token::End { "" } else { other.text() };
                self.fail(at, format!("Syntax error: no viable alternative at input '.{found}'"))
            }
        }
    }

    fn structure(&mut self, at: usize, name: &Expr) -> Result<Expr, Failed> {
        let name: Arc<str> = name.qualified_name().unwrap_or_default().into();
        let mut fields = Vec::new();
        while !self.took("}") {
            let optional = self.took("?");
            let field = self.field_name()?;
            let colon = self.expect(":")?;
            fields.push(FieldInit { name: field, value: self.expr()?, optional, at: colon });
            if !self.took(",") {
                self.close("}")?;
                break;
            }
        }
        self.made(at, Kind::Struct { name, fields })
    }

    fn list_until(&mut self, close: &str) -> Result<Vec<Expr>, Failed> {
        let mut items = Vec::new();
        if self.took(close) {
            return Ok(items);
        }
        if *self.peek() == Token::End || self.peek_symbol(",") {
            return self.unexpected(&BEGINNINGS.replace("'(', ", &format!("'(', '{close}', ")));
        }
        loop {
            items.push(self.expr()?);
            if !self.took(",") {
                self.close(close)?;
                return Ok(items);
            }
        }
    }

    fn primary(&mut self) -> Result<Expr, Failed> {
        let at = self.at();
        match self.peek().clone() {
            Token::Symbol("(") => {
                self.next += 1;
                let inner = self.expr()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Symbol("[") => {
                self.next += 1;
                self.list(at)
            }
            Token::Symbol("{") => {
                self.next += 1;
                self.map(at)
            }
            Token::Symbol(".") => {
                self.next += 1;
                self.named(at)
            }
            Token::Symbol("-") if self.at_negative_number() => {
                self.next += 1;
                self.literal(at, true)
            }
            Token::Ident(word) if !matches!(word.as_str(), "true" | "false" | "null" | "in") => {
                self.named(at)
            }
            Token::Symbol(_) | Token::End | Token::Quoted(_) => self.unexpected(BEGINNINGS),
            Token::Ident(word) if word == "in" => self.unexpected(BEGINNINGS),
            _ => self.literal(at, false),
        }
    }

    /// A variable, or a call of a function by its name alone.
    fn named(&mut self, at: usize) -> Result<Expr, Failed> {
        let Token::Ident(name) = self.peek().clone() else { return self.unexpected("IDENTIFIER") };
        self.next += 1;
        if RESERVED.contains(&name.as_str()) {
            return self.fail(at, format!("reserved identifier: {name}"));
        }
        let open = self.at();
        if self.took("(") {
            let args = self.list_until(")")?;
            return macros::global(self, open, &name, args);
        }
        self.made(at, Kind::Ident(name.into()))
    }

    fn list(&mut self, at: usize) -> Result<Expr, Failed> {
        let mut items = Vec::new();
        while !self.took("]") {
            let optional = self.took("?");
            if self.peek_symbol(",") && !items.is_empty() {
                return self.unexpected("']'");
            }
            items.push(Item { value: self.expr()?, optional });
            if !self.took(",") {
                self.close("]")?;
                break;
            }
        }
        self.made(at, Kind::List(items))
    }

    fn map(&mut self, at: usize) -> Result<Expr, Failed> {
        let mut entries = Vec::new();
        while !self.took("}") {
            let optional = self.took("?");
            let key = self.expr()?;
            self.expect(":")?;
            entries.push(Entry { key, value: self.expr()?, optional });
            if !self.took(",") {
                self.close("}")?;
                break;
            }
        }
        self.made(at, Kind::Map(entries))
    }

    fn literal(&mut self, at: usize, negative: bool) -> Result<Expr, Failed> {
        let value = match self.take() {
            Token::Int(text) => literal::int(&text, negative).map(Literal::Int).ok_or("invalid int literal"),
            Token::Uint(text) => literal::uint(&text).map(Literal::Uint).ok_or("invalid uint literal"),
            Token::Float(text) => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => {
                    Ok(Literal::Double(if negative { -number } else { number }))
                }
                _ => Err("invalid double literal"),
            },
            Token::String(text) => literal::unquote(&text, false)
                .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "invalid UTF-8 string"))
                .map(|text| Literal::String(text.into())),
            Token::Bytes(text) => literal::unquote(&text, true).map(|bytes| Literal::Bytes(bytes.into())),
            Token::Ident(word) if word == "null" => Ok(Literal::Null),
            Token::Ident(word) => Ok(Literal::Bool(word == "true")),
            Token::Symbol(_) | Token::Quoted(_) | Token::End => Err("unexpected character"),
        };
        match value {
            Ok(value) => self.made(at, Kind::Literal(value)),
            Err(why) => self.fail(at, why),
        }
    }
}
