//! Runs a program. Every step is paid for from the budget before its result is used.

use std::sync::Arc;

use crate::cost::{Budget, actual};
use crate::error::EvalError;
use crate::library::operators;
use crate::program::{CallNode, Index, Node, Path, Program};
use crate::syntax::ast::Select;
use crate::value::{Activation, Map, Text, Value, compare};

mod fold;

pub(crate) fn run<'a>(
    program: &'a Program,
    variables: &dyn Activation<'a>,
    budget: &mut Budget,
) -> Result<Value<'a>, EvalError> {
    let slots = vec![None; program.variables.len()];
    Machine { program, variables, slots, locals: Vec::new(), held: Vec::new(), budget }.eval(&program.root)
}

struct Machine<'a, 'v> {
    program: &'a Program,
    variables: &'v dyn Activation<'a>,
    /// Each variable once it was asked for.
    slots: Vec<Option<Value<'a>>>,
    locals: Vec<Value<'a>>,
    /// What each value that is held on to cost.
    held: Vec<(usize, u64)>,
    budget: &'v mut Budget,
}

impl<'a> Machine<'a, '_> {
    fn eval(&mut self, node: &'a Node) -> Result<Value<'a>, EvalError> {
        match node {
            Node::Const(value) => Ok(match value {
                // Borrowed from the program: cheaper than counting another owner.
                Value::String(text) => Value::String(Text::Borrowed(text)),
                other => other.clone(),
            }),
            Node::Var(place) => {
                self.budget.spend(1)?;
                self.variable(*place)
            }
            Node::Local(place) => {
                self.budget.spend(1)?;
                self.locals.get(*place).cloned().ok_or(EvalError::NoSuchOverload)
            }
            Node::Held(place) => {
                let (_, cost) =
                    self.held.iter().rev().find(|(held, _)| held == place).copied().unwrap_or_default();
                self.budget.spend(cost)?;
                self.locals.get(*place).cloned().ok_or(EvalError::NoSuchOverload)
            }
            Node::Select(path) => self.select(path),
            Node::Index(index) => self.index(index),
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Cond(parts) => match self.eval(&parts[0])? {
                Value::Bool(true) => self.branch(&parts[1]),
                Value::Bool(false) => self.branch(&parts[2]),
                _ => Err(EvalError::NotBool),
            },
            Node::Call(call) => self.call(call),
            Node::Or2(parts, unwrap) => match self.eval(&parts[0])? {
                Value::Optional(None) => self.eval(&parts[1]),
                Value::Optional(Some(inner)) if *unwrap => Ok((*inner).clone()),
                // What is not optional is there.
                there => Ok(there),
            },
            Node::InSet(wanted, list) => {
                let wanted = self.eval(wanted)?;
                match list {
                    Value::List(list) => Ok(Value::Bool(list.contains(&wanted)?)),
                    _ => Err(EvalError::NoSuchOverload),
                }
            }
            Node::Matches(text, regex, pattern_size) => {
                let Value::String(text) = self.eval(text)? else { return Err(EvalError::NoSuchOverload) };
                let size = text.chars().count() as u64;
                self.budget.spend((size + 1).div_ceil(10).saturating_mul(pattern_size.div_ceil(4)))?;
                Ok(Value::Bool(regex.is_match(&text)))
            }
            Node::List(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (item, optional) in items {
                    let value = self.eval(item)?;
                    self.keep(value, *optional, |value| values.push(value))?;
                }
                self.budget.spend(actual::LIST)?;
                Ok(Value::list(values))
            }
            Node::Map(entries) => self.map(entries),
            Node::Struct(name, fields) => {
                let mut set = Vec::with_capacity(fields.len());
                for (field, node, optional) in fields {
                    let value = self.eval(node)?;
                    self.keep(value, *optional, |value| set.push((&**field, value)))?;
                }
                self.budget.spend(actual::STRUCT)?;
                Ok(Value::Map(Map::Object(name, Arc::new(set))))
            }
            Node::Fold(fold) => self.fold(fold),
            Node::Hold(parts) => {
                let before = self.budget.spent();
                let value = self.eval(&parts[0])?;
                let cost = self.budget.spent().saturating_sub(before);
                self.budget.refund(cost);
                self.held.push((self.locals.len(), cost));
                self.locals.push(value);
                let result = self.eval(&parts[1]);
                self.locals.pop();
                self.held.pop();
                result
            }
            Node::Bind(parts) => {
                let value = self.eval(&parts[0])?;
                self.locals.push(value);
                let result = self.eval(&parts[1]);
                self.locals.pop();
                result
            }
        }
    }

    fn variable(&mut self, place: usize) -> Result<Value<'a>, EvalError> {
        if let Some(Some(known)) = self.slots.get(place) {
            return Ok(known.clone());
        }
        let name = self.program.variables.get(place).map_or("", |name| name);
        match self.variables.variable(name) {
            Some(found) => {
                let found = found?;
                if let Some(slot) = self.slots.get_mut(place) {
                    *slot = Some(found.clone());
                }
                Ok(found)
            }
            None => Err(EvalError::NoSuchAttribute(name.to_owned())),
        }
    }

    /// A variable or path as the outcome of a choice is not paid for again.
    fn branch(&mut self, node: &'a Node) -> Result<Value<'a>, EvalError> {
        let result = self.eval(node);
        if node.is_path() {
            self.budget.refund(1);
        }
        result
    }

    /// What is optional and absent is left out.
    fn keep(
        &mut self,
        value: Value<'a>,
        optional: bool,
        mut put: impl FnMut(Value<'a>),
    ) -> Result<(), EvalError> {
        match value {
            Value::Optional(None) if optional => {}
            Value::Optional(Some(inner)) if optional => put((*inner).clone()),
            _ if optional => {
                return Err(EvalError::function("cannot initialize optional entry from non-optional value"));
            }
            value => put(value),
        }
        Ok(())
    }

    fn map(&mut self, nodes: &'a [(Node, Node, bool)]) -> Result<Value<'a>, EvalError> {
        let mut entries: Vec<(Value<'a>, Value<'a>)> = Vec::with_capacity(nodes.len());
        for (key, value, optional) in nodes {
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            let mut kept = None;
            self.keep(value, *optional, |value| kept = Some(value))?;
            let Some(value) = kept else { continue };
            // A key that is written twice has its last value.
            let known = entries.iter().position(|(known, _)| compare::equal(known, &key).unwrap_or(false));
            match known {
                Some(place) => entries[place].1 = value,
                None => entries.push((key, value)),
            }
        }
        self.budget.spend(actual::MAP)?;
        Ok(Value::Map(Map::Values(Arc::new(entries))))
    }

    /// `&&` and `||`: one term that settles the matter outweighs errors in the others.
    fn logical(&mut self, terms: &'a [Node], settles: bool) -> Result<Value<'a>, EvalError> {
        let mut failed = None;
        for term in terms {
            match self.eval(term) {
                Ok(Value::Bool(truth)) if truth == settles => return Ok(Value::Bool(settles)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failed = failed.or(Some(EvalError::NotBool)),
                Err(EvalError::CostExceeded) => return Err(EvalError::CostExceeded),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Value::Bool(!settles)),
        }
    }

    fn select(&mut self, path: &'a Path) -> Result<Value<'a>, EvalError> {
        let operand = self.eval(&path.operand)?;
        let found = self.field(&operand, &path.field, path.mode);
        // An optional field that is not there costs nothing.
        let free = path.mode == Select::Test
            || matches!(found, Ok(Value::Optional(None))) && path.mode == Select::Optional;
        self.budget.spend(u64::from(!free) + u64::from(path.relative))?;
        found
    }

    fn field(&mut self, of: &Value<'a>, field: &'a str, mode: Select) -> Result<Value<'a>, EvalError> {
        let found = match of {
            Value::Map(Map::Lazy(variable)) => self.variables.field(variable, field).transpose(),
            Value::Map(map) if mode == Select::Test => return Ok(Value::Bool(map.has(field))),
            Value::Map(map) => map.field(field),
            Value::Optional(Some(inner)) => {
                let mode = if mode == Select::Test { mode } else { Select::Optional };
                return self.field(inner, field, mode);
            }
            Value::Optional(None) if mode == Select::Test => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::none()),
            Value::List(_) => return Err(EvalError::function("unsupported index type 'string' in list")),
            // Whatever has no fields has not this one either.
            _ => Ok(None),
        };
        match (mode, found?) {
            (Select::Value, Some(value)) => Ok(value),
            (Select::Value, None) => Err(EvalError::NoSuchKey(field.to_owned())),
            (Select::Optional, Some(value)) => Ok(Value::some(value)),
            (Select::Optional, None) => Ok(Value::none()),
            (Select::Test, found) => Ok(Value::Bool(found.is_some())),
        }
    }

    fn index(&mut self, index: &'a Index) -> Result<Value<'a>, EvalError> {
        let operand = self.eval(&index.operand)?;
        let key = self.eval(&index.index)?;
        if index.index.is_path() {
            // A variable as an index is part of the path and not paid for by itself.
            self.budget.refund(1);
        }
        let found = match (&operand, &key) {
            (Value::Map(Map::Lazy(_)), Value::String(Text::Borrowed(field))) => {
                self.field(&operand, field, if index.optional { Select::Optional } else { Select::Value })
            }
            _ if index.optional => operators::optional_index(&operand, &key),
            _ => operators::index(&operand, &key),
        };
        let free = index.optional && matches!(found, Ok(Value::Optional(None)));
        self.budget.spend(u64::from(!free) + u64::from(index.relative))?;
        found
    }

    fn call(&mut self, call: &'a CallNode) -> Result<Value<'a>, EvalError> {
        // Most calls have one or two arguments, which need no allocation.
        match &*call.args {
            [] => self.finish(call, &[]),
            [one] => match self.eval(one) {
                Ok(value) => self.finish(call, &[value]),
                Err(error) => self.failed(call, error),
            },
            [one, two] => match (self.eval(one), self.eval(two)) {
                (Ok(first), Ok(second)) => self.finish(call, &[first, second]),
                (Err(error), _) | (_, Err(error)) => self.failed(call, error),
            },
            more => {
                let args = more.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>, _>>()?;
                self.finish(call, &args)
            }
        }
    }

    /// A call whose arguments failed is paid for nevertheless.
    fn failed(&mut self, call: &'a CallNode, error: EvalError) -> Result<Value<'a>, EvalError> {
        if error != EvalError::CostExceeded {
            self.budget.spend(call.rule.cost(&[Value::Null, Value::Null], None))?;
        }
        Err(error)
    }

    fn finish(&mut self, call: &'a CallNode, args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
        use actual::Rule;
        if let Rule::WalkResult | Rule::ListResult = call.rule {
            let result = (call.function.run)(args).map_err(|error| named(error, call.function.name, args))?;
            self.budget.spend(call.rule.cost(args, Some(&result)))?;
            return Ok(result);
        }
        self.budget.spend(call.rule.cost(args, None))?;
        (call.function.run)(args).map_err(|error| named(error, call.function.name, args))
    }
}

/// Functions other than operators say what they were given.
fn named(error: EvalError, function: &str, args: &[Value<'_>]) -> EvalError {
    if error != EvalError::NoSuchOverload {
        return error;
    }
    match function {
        "startsWith" | "endsWith" | "contains" | "matches" | "containsIP" | "containsCIDR" | "sort" => error,
        "flatten" => {
            let of = args.first().map_or("", Value::type_name);
            EvalError::NoOverloadFor(format!("{of}.flatten()"))
        }
        "size" => EvalError::NoOverloadFor(function.to_owned()),
        operator if operator.contains(['_', '@']) => error,
        _ => {
            let types: Vec<&str> = args.iter().map(Value::type_name).collect();
            EvalError::NoOverloadFor(format!("{function}({})", types.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
