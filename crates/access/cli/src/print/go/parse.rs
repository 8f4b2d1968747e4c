//! Pieces into a tree that can be carried out.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::lex::{Piece, Token, What, pieces};

#[derive(Debug)]
pub(super) enum Node {
    Text(String),
    Action(Pipe),
    If { pipe: Pipe, then: Vec<Node>, otherwise: Vec<Node> },
    With { pipe: Pipe, then: Vec<Node>, otherwise: Vec<Node> },
    Range { pipe: Pipe, each: Vec<Node>, otherwise: Vec<Node> },
    Template { name: String, pipe: Option<Pipe> },
    Break,
    Continue,
}

/// `$a, $b := first | second`
#[derive(Debug, Default)]
pub(super) struct Pipe {
    pub(super) variables: Vec<String>,
    /// The variables are there already.
    pub(super) assigns: bool,
    /// Each is a function or value with what it is given.
    pub(super) commands: Vec<Vec<Operand>>,
}

#[derive(Debug)]
pub(super) enum Operand {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Function(String),
    /// Fields of what is looked at; without any it is that itself.
    Field(Vec<String>),
    Variable(String, Vec<String>),
    Pipe(Box<Pipe>, Vec<String>),
}

pub(super) type Named = BTreeMap<String, Vec<Node>>;

/// What a template does, and the named ones that it defines.
pub(super) fn template(text: &str) -> Result<(Vec<Node>, Named), String> {
    let mut parser = Parser { pieces: pieces(text)?.into_iter(), named: Named::new(), loops: 0 };
    let (nodes, end) = parser.nodes()?;
    match end {
        Stop::Text => Ok((nodes, parser.named)),
        Stop::End => Err("unexpected {{end}}".to_owned()),
        Stop::Else(_) => Err("unexpected {{else}}".to_owned()),
    }
}

struct Parser {
    pieces: IntoIter<Piece>,
    named: Named,
    /// How many `range`s are open.
    loops: usize,
}

/// What a list of nodes ended with.
enum Stop {
    Text,
    End,
    /// With what follows the word: `if …`, `with …` or nothing.
    Else(Vec<Token>),
}

impl Parser {
    fn nodes(&mut self) -> Result<(Vec<Node>, Stop), String> {
        let mut nodes = Vec::new();
        while let Some(piece) = self.pieces.next() {
            let mut tokens = match piece {
                Piece::Text(text) => {
                    nodes.push(Node::Text(text));
                    continue;
                }
                Piece::Action(tokens) => tokens,
            };
            let word = match tokens.first() {
                Some(Token { what: What::Word(word), .. }) => word.clone(),
                Some(_) => String::new(),
                None => return Err("missing value for command".to_owned()),
            };
            let mut behind = || tokens.split_off(1);
            match &*word {
                "end" => return Ok((nodes, Stop::End)),
                "else" => return Ok((nodes, Stop::Else(behind()))),
                "if" | "with" | "range" => {
                    let behind = behind();
                    nodes.push(self.branch(&word, behind)?);
                }
                "break" | "continue" if self.loops == 0 => {
                    return Err(format!("{{{{{word}}}}} outside {{{{range}}}}"));
                }
                "break" => nodes.push(Node::Break),
                "continue" => nodes.push(Node::Continue),
                "define" => {
                    let (name, _) = named(behind())?;
                    let body = self.until_end(&name)?;
                    self.named.insert(name, body);
                }
                "block" => {
                    let (name, pipe) = named(behind())?;
                    let body = self.until_end(&name)?;
                    self.named.insert(name.clone(), body);
                    nodes.push(Node::Template { name, pipe });
                }
                "template" => {
                    let (name, pipe) = named(behind())?;
                    nodes.push(Node::Template { name, pipe });
                }
                _ => nodes.push(Node::Action(pipe(tokens)?)),
            }
        }
        Ok((nodes, Stop::Text))
    }

    fn until_end(&mut self, name: &str) -> Result<Vec<Node>, String> {
        match self.nodes()? {
            (body, Stop::End) => Ok(body),
            _ => Err(format!("{name:?} has no {{{{end}}}}")),
        }
    }

    fn branch(&mut self, word: &str, tokens: Vec<Token>) -> Result<Node, String> {
        let pipe = pipe(tokens)?;
        let is_loop = usize::from(word == "range");
        self.loops += is_loop;
        let inner = self.nodes();
        self.loops -= is_loop;
        let (then, end) = inner?;
        let otherwise = match end {
            Stop::End => Vec::new(),
            Stop::Text => return Err("unexpected EOF".to_owned()),
            Stop::Else(mut rest) => match rest.first() {
                None => match self.nodes()? {
                    (otherwise, Stop::End) => otherwise,
                    (_, Stop::Else(_)) => return Err("expected end; found {{else}}".to_owned()),
                    (_, Stop::Text) => return Err("unexpected EOF".to_owned()),
                },
                // `else if` ends with the `if` that it belongs to.
                Some(Token { what: What::Word(inner), .. }) if inner == word && word != "range" => {
                    vec![self.branch(word, rest.split_off(1))?]
                }
                Some(_) => return Err("unexpected word behind {{else}}".to_owned()),
            },
        };
        Ok(match word {
            "if" => Node::If { pipe, then, otherwise },
            "with" => Node::With { pipe, then, otherwise },
            _ => Node::Range { pipe, each: then, otherwise },
        })
    }
}

/// `"name" pipeline`
fn named(mut tokens: Vec<Token>) -> Result<(String, Option<Pipe>), String> {
    let name = match tokens.first() {
        Some(Token { what: What::Text(name), .. }) => name.clone(),
        _ => return Err("a template's name has to be a quoted string".to_owned()),
    };
    let rest = tokens.split_off(1);
    Ok((name, if rest.is_empty() { None } else { Some(pipe(rest)?) }))
}

fn pipe(tokens: Vec<Token>) -> Result<Pipe, String> {
    let mut tokens = tokens.into_iter().peekable();
    let found = pipeline(&mut tokens, false)?;
    match tokens.next() {
        None => Ok(found),
        Some(_) => Err("unexpected right paren".to_owned()),
    }
}

fn pipeline(tokens: &mut Peekable<IntoIter<Token>>, nested: bool) -> Result<Pipe, String> {
    let mut pipe = Pipe::default();
    declared(tokens, &mut pipe)?;
    let mut command = Vec::new();
    loop {
        let token = match tokens.next() {
            None if nested => return Err("unclosed left paren".to_owned()),
            None => break,
            Some(token) => token,
        };
        match token.what {
            What::Pipe if command.is_empty() => return Err("missing value for command".to_owned()),
            What::Pipe => pipe.commands.push(std::mem::take(&mut command)),
            What::Close if nested => break,
            what => command.push(operand(what, tokens)?),
        }
    }
    if command.is_empty() {
        return Err("missing value for command".to_owned());
    }
    pipe.commands.push(command);
    Ok(pipe)
}

/// Variables that get what follows, if these are there.
fn declared(tokens: &mut Peekable<IntoIter<Token>>, pipe: &mut Pipe) -> Result<(), String> {
    let mut ahead = tokens.clone();
    let mut names = Vec::new();
    while let Some(Token { what: What::Variable(name), .. }) = ahead.next() {
        names.push(name);
        match ahead.next().map(|token| token.what) {
            Some(What::Comma) if names.len() == 1 => {}
            Some(found @ (What::Declare | What::Assign)) => {
                pipe.variables = names;
                pipe.assigns = found == What::Assign;
                *tokens = ahead;
                return Ok(());
            }
            Some(What::Comma) => return Err("too many declarations".to_owned()),
            _ => return Ok(()),
        }
    }
    Ok(())
}

fn operand(what: What, tokens: &mut Peekable<IntoIter<Token>>) -> Result<Operand, String> {
    let mut found = match what {
        What::Word(word) => match &*word {
            "true" => Operand::Bool(true),
            "false" => Operand::Bool(false),
            "nil" => Operand::Nil,
            known if super::call::is_known(known) => Operand::Function(word),
            _ => return Err(format!("function {word:?} not defined")),
        },
        What::Field(name) => Operand::Field(vec![name]),
        What::Dot => Operand::Field(Vec::new()),
        What::Variable(name) => Operand::Variable(name, Vec::new()),
        What::Text(text) => Operand::Text(text),
        What::Int(number) => Operand::Int(number),
        What::Float(number) => Operand::Float(number),
        What::Open => Operand::Pipe(Box::new(pipeline(tokens, true)?), Vec::new()),
        What::Close => return Err("unexpected right paren".to_owned()),
        What::Pipe | What::Declare | What::Assign | What::Comma => {
            return Err("unexpected sign in operand".to_owned());
        }
    };
    while let Some(Token { what: What::Field(_), glued: true }) = tokens.peek() {
        let Some(Token { what: What::Field(name), .. }) = tokens.next() else { break };
        match &mut found {
            Operand::Field(names) | Operand::Variable(_, names) | Operand::Pipe(_, names) => names.push(name),
            _ => return Err(format!("unexpected .{name} after term")),
        }
    }
    Ok(found)
}
