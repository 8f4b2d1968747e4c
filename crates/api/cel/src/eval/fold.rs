//! Walks over lists and maps. The fixed costs are those of upstream's expansion of the same macros.

use std::sync::Arc;

use super::Machine;
use crate::error::EvalError;
use crate::program::{FoldNode, Node};
use crate::syntax::ast::FoldKind;
use crate::value::{List, Map, Value};

/// What is walked over.
enum Range<'a> {
    List(List<'a>),
    /// A map by its keys, made once.
    Map(Map<'a>, Vec<Value<'a>>),
}

impl<'a> Machine<'a, '_> {
    pub(super) fn fold(&mut self, fold: &'a FoldNode) -> Result<Value<'a>, EvalError> {
        let range = match self.eval(&fold.range)? {
            Value::List(list) => Range::List(list),
            Value::Map(map) => {
                let keys = map.keys();
                Range::Map(map, keys)
            }
            other => {
                let kind = host_type(&other);
                return Err(EvalError::function(format!("got '{kind}', expected iterable type")));
            }
        };
        let outer = self.locals.len();
        let result = match fold.kind {
            FoldKind::All => self.quantified(fold, &range, true),
            FoldKind::Exists => self.quantified(fold, &range, false),
            FoldKind::ExistsOne => self.exists_one(fold, &range),
            FoldKind::Map | FoldKind::Filter => self.collected(fold, &range),
            FoldKind::MapValues | FoldKind::MapEntries => self.merged(fold, &range),
        };
        self.locals.truncate(outer);
        result
    }

    /// Puts the variables of one round on the stack; `false` after the last.
    fn enter(
        &mut self,
        fold: &FoldNode,
        range: &Range<'a>,
        round: usize,
        outer: usize,
    ) -> Result<bool, EvalError> {
        self.locals.truncate(outer);
        match range {
            Range::List(list) => {
                if round >= list.len() {
                    return Ok(false);
                }
                if fold.two {
                    self.locals.push(Value::Int(round as i64));
                }
                self.locals.push(list.get(round)?);
            }
            Range::Map(map, keys) => {
                let Some(key) = keys.get(round) else { return Ok(false) };
                self.locals.push(key.clone());
                if fold.two {
                    self.locals.push(map.get(key)?.unwrap_or(Value::Null));
                }
            }
        }
        Ok(true)
    }

    /// `all` and `exists`: one element that settles the matter outweighs errors in the others.
    fn quantified(
        &mut self,
        fold: &'a FoldNode,
        range: &Range<'a>,
        all: bool,
    ) -> Result<Value<'a>, EvalError> {
        let outer = self.locals.len();
        let mut failed = None;
        let mut settled = false;
        let mut round = 0;
        while self.enter(fold, range, round, outer)? {
            self.budget.spend(if all { 2 } else { 3 })?;
            if settled {
                break;
            }
            self.budget.spend(1)?;
            match self.eval(&fold.body) {
                Ok(Value::Bool(truth)) => settled = truth != all,
                Ok(_) => failed = failed.or(Some(EvalError::NotBool)),
                Err(EvalError::CostExceeded) => return Err(EvalError::CostExceeded),
                Err(error) => failed = failed.or(Some(error)),
            }
            round += 1;
        }
        self.budget.spend(1)?;
        match failed {
            Some(error) if !settled => Err(error),
            _ => Ok(Value::Bool(settled != all)),
        }
    }

    fn exists_one(&mut self, fold: &'a FoldNode, range: &Range<'a>) -> Result<Value<'a>, EvalError> {
        let outer = self.locals.len();
        let (mut count, mut round) = (0, 0);
        while self.enter(fold, range, round, outer)? {
            match self.eval(&fold.body)? {
                Value::Bool(true) => {
                    self.budget.spend(2)?;
                    count += 1;
                }
                Value::Bool(false) => {}
                _ => return Err(EvalError::NotBool),
            }
            round += 1;
        }
        self.budget.spend(2)?;
        Ok(Value::Bool(count == 1))
    }

    /// Whether the filter, if there is one, lets this round through.
    fn wanted(&mut self, fold: &'a FoldNode) -> Result<bool, EvalError> {
        match &fold.filter {
            None => Ok(true),
            Some(filter) => match self.eval(filter)? {
                Value::Bool(truth) => Ok(truth),
                _ => Err(EvalError::NotBool),
            },
        }
    }

    fn collected(&mut self, fold: &'a FoldNode, range: &Range<'a>) -> Result<Value<'a>, EvalError> {
        let outer = self.locals.len();
        let mut items = Vec::new();
        let mut round = 0;
        // The item as a list of its own, added to what there is; a constant item is a list already.
        let fixed = if matches!(fold.body, Node::Const(_)) { 2 } else { 12 };
        while self.enter(fold, range, round, outer)? {
            if self.wanted(fold)? {
                items.push(self.eval(&fold.body)?);
                self.budget.spend(fixed)?;
            }
            round += 1;
        }
        self.budget.spend(1)?;
        Ok(Value::list(items))
    }

    fn merged(&mut self, fold: &'a FoldNode, range: &Range<'a>) -> Result<Value<'a>, EvalError> {
        let outer = self.locals.len();
        let mut entries: Vec<(Value<'a>, Value<'a>)> = Vec::new();
        let mut round = 0;
        while self.enter(fold, range, round, outer)? {
            if self.wanted(fold)? {
                let value = self.eval(&fold.body)?;
                if fold.kind == FoldKind::MapValues {
                    self.budget.spend(3)?;
                    let key = self.locals.get(outer).cloned().unwrap_or(Value::Null);
                    insert(&mut entries, key, value)?;
                } else {
                    self.budget.spend(2)?;
                    let Value::Map(map) = value else { return Err(EvalError::NoSuchOverload) };
                    for key in map.keys() {
                        if let Some(value) = map.get(&key)? {
                            insert(&mut entries, key, value)?;
                        }
                    }
                }
            }
            round += 1;
        }
        self.budget.spend(1)?;
        Ok(Value::Map(Map::Values(Arc::new(entries))))
    }
}

/// What upstream's message calls a value that cannot be walked over.
fn host_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::Optional(_) => "*types.Optional",
        Value::Type(_) => "*types.Type",
        Value::List(_) | Value::Map(_) | Value::Opaque(_) => "ref.Val",
    }
}

fn insert<'a>(
    entries: &mut Vec<(Value<'a>, Value<'a>)>,
    key: Value<'a>,
    value: Value<'a>,
) -> Result<(), EvalError> {
    let map = Map::Values(Arc::new(std::mem::take(entries)));
    let there = map.get(&key)?.is_some();
    if let Map::Values(taken) = map {
        *entries = Arc::try_unwrap(taken).unwrap_or_default();
    }
    if there {
        let key = key.as_str().map_or_else(|| key.type_name().to_owned(), str::to_owned);
        return Err(EvalError::function(format!("insert failed: key {key} already exists")));
    }
    entries.push((key, value));
    Ok(())
}
