//! Carries a template out.

use std::borrow::Cow;

use serde_json::Value;

use super::call;
use super::format::plain;
use super::parse::{Named, Node, Operand, Pipe};
use super::value::{Val, sorted};

/// Named templates may use each other, but not for ever.
const DEEPEST: usize = 200;

pub(super) fn run(nodes: &[Node], named: &Named, object: &Value, strict: bool) -> Result<String, String> {
    let mut run = Run { named, strict, out: String::new(), variables: vec![("", Val::of(object))], depth: 0 };
    run.nodes(nodes, &Val::of(object))?;
    Ok(run.out)
}

struct Run<'v> {
    named: &'v Named,
    strict: bool,
    out: String,
    /// The innermost last. The first, without a name, is the whole object.
    variables: Vec<(&'v str, Val<'v>)>,
    depth: usize,
}

/// How a list of nodes was left.
#[derive(PartialEq, Eq)]
enum Left {
    AtItsEnd,
    Break,
    Continue,
}

impl<'v> Run<'v> {
    fn nodes(&mut self, nodes: &'v [Node], dot: &Val<'v>) -> Result<Left, String> {
        for node in nodes {
            let left = self.node(node, dot)?;
            if left != Left::AtItsEnd {
                return Ok(left);
            }
        }
        Ok(Left::AtItsEnd)
    }

    /// The same; variables that it makes are gone afterwards.
    fn scoped(&mut self, nodes: &'v [Node], dot: &Val<'v>, known: usize) -> Result<Left, String> {
        let left = self.nodes(nodes, dot);
        self.variables.truncate(known);
        left
    }

    fn node(&mut self, node: &'v Node, dot: &Val<'v>) -> Result<Left, String> {
        let known = self.variables.len();
        match node {
            Node::Text(text) => self.out.push_str(text),
            Node::Action(pipe) => {
                let value = self.pipe(pipe, dot)?;
                if pipe.variables.is_empty() {
                    match value {
                        Val::None => self.out.push_str("<no value>"),
                        value => self.out.push_str(&plain(&value)),
                    }
                }
            }
            Node::If { pipe, then, otherwise } => {
                let chosen = if self.pipe(pipe, dot)?.holds() { then } else { otherwise };
                return self.scoped(chosen, dot, known);
            }
            Node::With { pipe, then, otherwise } => {
                let value = self.pipe(pipe, dot)?;
                return match value.holds() {
                    true => self.scoped(then, &value, known),
                    false => self.scoped(otherwise, dot, known),
                };
            }
            Node::Range { pipe, each, otherwise } => {
                let over = self.pipe_value(pipe, dot)?;
                let items = items(&over)?;
                if items.is_empty() {
                    return self.scoped(otherwise, dot, known);
                }
                for (key, item) in items {
                    match &pipe.variables[..] {
                        [] => {}
                        [one] => self.set(one, item.clone(), pipe.assigns)?,
                        [first, second, ..] => {
                            self.set(first, key, pipe.assigns)?;
                            self.set(second, item.clone(), pipe.assigns)?;
                        }
                    }
                    if self.scoped(each, &item, known)? == Left::Break {
                        break;
                    }
                }
            }
            Node::Template { name, pipe } => {
                let given = match pipe {
                    Some(pipe) => self.pipe(pipe, dot)?,
                    None => Val::None,
                };
                self.template(name, given)?;
                self.variables.truncate(known);
            }
            Node::Break => return Ok(Left::Break),
            Node::Continue => return Ok(Left::Continue),
        }
        Ok(Left::AtItsEnd)
    }

    fn template(&mut self, name: &str, dot: Val<'v>) -> Result<(), String> {
        let named = self.named;
        let nodes = named.get(name).ok_or_else(|| format!("template {name:?} not defined"))?;
        if self.depth == DEEPEST {
            return Err(format!("exceeded maximum template depth ({DEEPEST})"));
        }
        self.depth += 1;
        // It sees nothing of ours but what it is given.
        let ours = std::mem::replace(&mut self.variables, vec![("", dot.clone())]);
        let done = self.nodes(nodes, &dot);
        self.variables = ours;
        self.depth -= 1;
        done.map(|_| ())
    }

    fn set(&mut self, name: &'v str, value: Val<'v>, assigns: bool) -> Result<(), String> {
        if !assigns {
            self.variables.push((name, value));
            return Ok(());
        }
        match self.variables.iter_mut().rev().find(|(known, _)| *known == name) {
            Some((_, held)) => *held = value,
            None => return Err(format!("undefined variable \"${name}\"")),
        }
        Ok(())
    }

    fn pipe(&mut self, pipe: &'v Pipe, dot: &Val<'v>) -> Result<Val<'v>, String> {
        let value = self.pipe_value(pipe, dot)?;
        for name in &pipe.variables {
            self.set(name, value.clone(), pipe.assigns)?;
        }
        Ok(value)
    }

    fn pipe_value(&mut self, pipe: &'v Pipe, dot: &Val<'v>) -> Result<Val<'v>, String> {
        let mut last = None;
        for command in &pipe.commands {
            last = Some(self.command(command, dot, last)?);
        }
        Ok(last.unwrap_or(Val::None))
    }

    fn command(
        &mut self,
        words: &'v [Operand],
        dot: &Val<'v>,
        last: Option<Val<'v>>,
    ) -> Result<Val<'v>, String> {
        let Some((first, given)) = words.split_first() else { return Ok(Val::None) };
        let Operand::Function(name) = first else {
            if !given.is_empty() || last.is_some() {
                return Err("can't give argument to non-function".to_owned());
            }
            return self.operand(first, dot);
        };
        // These two look no further than they have to.
        if let Some(enough) = match &**name {
            "and" => Some(false),
            "or" => Some(true),
            _ => None,
        } {
            let mut value = None;
            for operand in given {
                let found = self.operand(operand, dot)?;
                if found.holds() == enough {
                    return Ok(found);
                }
                value = Some(found);
            }
            let value = last.or(value);
            return value.ok_or_else(|| format!("wrong number of args for {name}: want at least 1 got 0"));
        }
        let mut arguments = Vec::with_capacity(given.len() + 1);
        for operand in given {
            arguments.push(self.operand(operand, dot)?);
        }
        arguments.extend(last);
        call::call(name, arguments).map_err(|wrong| format!("error calling {name}: {wrong}"))
    }

    fn operand(&mut self, operand: &'v Operand, dot: &Val<'v>) -> Result<Val<'v>, String> {
        match operand {
            Operand::Nil => Ok(Val::None),
            Operand::Bool(truth) => Ok(Val::Bool(*truth)),
            Operand::Int(number) => Ok(Val::Int(*number)),
            Operand::Float(number) => Ok(Val::Float(*number)),
            Operand::Text(text) => Ok(Val::Text(Cow::Borrowed(text))),
            Operand::Function(name) => {
                call::call(name, Vec::new()).map_err(|wrong| format!("error calling {name}: {wrong}"))
            }
            Operand::Field(names) => dot.clone().fields(names, self.strict),
            Operand::Variable(name, names) => {
                let held = self.variables.iter().rev().find(|(known, _)| known == name);
                let (_, value) = held.ok_or_else(|| format!("undefined variable \"${name}\""))?;
                value.clone().fields(names, self.strict)
            }
            Operand::Pipe(pipe, names) => self.pipe(pipe, dot)?.fields(names, self.strict),
        }
    }
}

/// What a `range` goes through: each with its place or key.
fn items<'v>(over: &Val<'v>) -> Result<Vec<(Val<'v>, Val<'v>)>, String> {
    let place = |number: usize| Val::Int(i64::try_from(number).unwrap_or(i64::MAX));
    Ok(match over {
        Val::None => Vec::new(),
        Val::List(list) => list.iter().enumerate().map(|(at, item)| (place(at), Val::of(item))).collect(),
        Val::Map(map) => sorted(map)
            .into_iter()
            .map(|(key, item)| (Val::Text(Cow::Borrowed(key.as_str())), Val::of(item)))
            .collect(),
        Val::Int(number) | Val::Long(number) => (0..*number).map(|at| (Val::Int(at), Val::Int(at))).collect(),
        other => return Err(format!("range can't iterate over {}", plain(other))),
    })
}
