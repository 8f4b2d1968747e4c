//! All functions that expressions can call: one file per library, each with its signatures and what they do.
//! Knows values, not expressions.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::error::EvalError;
use crate::types::Type;
use crate::value::{Map, Value};

pub(crate) mod authz;
pub(crate) mod convert;
pub(crate) mod format;
pub(crate) mod lists;
pub(crate) mod network;
pub(crate) mod operators;
pub(crate) mod optional;
pub(crate) mod printf;
pub(crate) mod quantity;
pub(crate) mod regexes;
pub(crate) mod semver;
mod signature;
pub(crate) mod strings;
pub(crate) mod time;
pub(crate) mod url;

/// What a function does with its arguments, the receiver first.
pub(crate) type Fun = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>, EvalError>;

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    /// `x.f()` rather than `f(x)`.
    pub(crate) member: bool,
    /// The receiver first. Type parameters are numbered from 0.
    pub(crate) args: Vec<Type>,
    pub(crate) result: Type,
    pub(crate) params: u32,
}

/// A function with all the ways to call it. Which one is meant shows in the values.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
    pub(crate) run: Fun,
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let libraries: [(&'static str, &[(&'static str, Fun)]); 14] = [
        (operators::SIGNATURES, operators::FUNCTIONS),
        (convert::SIGNATURES, convert::FUNCTIONS),
        (strings::SIGNATURES, strings::FUNCTIONS),
        (lists::SIGNATURES, lists::FUNCTIONS),
        (time::SIGNATURES, time::FUNCTIONS),
        (regexes::SIGNATURES, regexes::FUNCTIONS),
        (url::SIGNATURES, url::FUNCTIONS),
        (quantity::SIGNATURES, quantity::FUNCTIONS),
        (network::SIGNATURES, network::FUNCTIONS),
        (format::SIGNATURES, format::FUNCTIONS),
        (semver::SIGNATURES, semver::FUNCTIONS),
        (optional::SIGNATURES, optional::FUNCTIONS),
        (authz::SIGNATURES, authz::FUNCTIONS),
        (printf::SIGNATURES, printf::FUNCTIONS),
    ];
    let mut functions: HashMap<&'static str, Function> = HashMap::new();
    for (_, runs) in libraries {
        for (name, run) in runs {
            functions.insert(name, Function { name, overloads: Vec::new(), run: *run });
        }
    }
    for (signatures, _) in libraries {
        for (name, overload) in signature::read(signatures) {
            if let Some(function) = functions.get_mut(name) {
                function.overloads.push(overload);
            }
        }
    }
    functions
});

pub(crate) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

#[cfg(test)]
pub(crate) fn functions() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.values()
}

/// More text than any request can hold is more than a rule can need.
const LONGEST_TEXT: usize = 4 << 20;

/// Refuses to make a text that is out of proportion to what it is made of: costs are counted by what functions are given.
fn room_for(bytes: usize) -> Result<(), EvalError> {
    if bytes > LONGEST_TEXT { Err(EvalError::CostExceeded) } else { Ok(()) }
}

fn first<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v Value<'a>, EvalError> {
    args.first().ok_or(EvalError::NoSuchOverload)
}

fn second<'v, 'a>(args: &'v [Value<'a>]) -> Result<&'v Value<'a>, EvalError> {
    args.get(1).ok_or(EvalError::NoSuchOverload)
}

fn map<'a>(entries: Vec<(Value<'a>, Value<'a>)>) -> Value<'a> {
    Value::Map(Map::Values(Arc::new(entries)))
}

#[cfg(test)]
mod tests;
