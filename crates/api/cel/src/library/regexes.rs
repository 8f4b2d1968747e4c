//! Regular expressions: `matches`, `find`, `findAll`. Patterns that were compiled once are kept for a while.

use std::cell::RefCell;

use regex::Regex;

use super::Fun;
use crate::error::EvalError;
use crate::value::Value;

pub(crate) const SIGNATURES: &str = "
matches matches (string,string) bool
matches matches_string string.(string) bool
find string_find_string string.(string) string
findAll string_find_all_string string.(string) list(string)
findAll string_find_all_string_int string.(string,int) list(string)
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("matches", |args| match args {
        [Value::String(text), Value::String(pattern)] => {
            with(text, pattern, |regex| Value::Bool(regex.is_match(text)))
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("find", |args| match args {
        [Value::String(text), Value::String(pattern)] => {
            with(text, pattern, |regex| Value::shared(regex.find(text).map_or("", |found| found.as_str())))
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("findAll", |args| {
        let (text, pattern, limit) = match args {
            [Value::String(text), Value::String(pattern)] => (text, pattern, -1),
            [Value::String(text), Value::String(pattern), Value::Int(limit)] => (text, pattern, *limit),
            _ => return Err(EvalError::NoSuchOverload),
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        with(text, pattern, |regex| {
            Value::list(
                regex.find_iter(text).take(limit).map(|found| Value::shared(found.as_str())).collect(),
            )
        })
    }),
];

/// How many patterns each thread keeps.
const KEPT: usize = 64;
/// Larger patterns than this could take memory out of proportion to their cost.
const MAX_COMPILED_BYTES: usize = 1 << 20;

thread_local! {
    static COMPILED: RefCell<Vec<(Box<str>, Regex)>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn compile(pattern: &str) -> Result<Regex, EvalError> {
    let built = regex::RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    built.map_err(|error| EvalError::function(format!("error parsing regexp: {}", reason(&error, pattern))))
}

/// The commonest mistakes in the words that users of Go know.
fn reason(error: &regex::Error, pattern: &str) -> String {
    let text = error.to_string();
    let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
    match why {
        "unclosed group" => format!("missing closing ): `{pattern}`"),
        "unopened group" => format!("unexpected ): `{pattern}`"),
        "unclosed character class" => {
            let open = pattern.rfind('[').unwrap_or(0);
            format!("missing closing ]: `{}`", &pattern[open..])
        }
        "repetition operator missing expression" => {
            let operator = pattern.find(['*', '+', '?']).map_or("", |at| &pattern[at..=at]);
            format!("missing argument to repetition operator: `{operator}`")
        }
        "incomplete escape sequence, reached end of pattern prematurely" => {
            "trailing backslash at end of expression: ``".into()
        }
        other => format!("{other}: `{pattern}`"),
    }
}

/// The most steps, roughly, that one match may take: characters of the text times those of the pattern written out.
const MOST_STEPS: usize = 100_000_000;

/// The cost of a match counts `x{1,999}` as nine characters, but it works as a thousand.
fn in_proportion(text: &str, pattern: &str) -> Result<(), EvalError> {
    let counts = pattern.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    let counts =
        counts.filter_map(|(count, _)| count.rsplit(',').find_map(|number| number.parse::<usize>().ok()));
    let written_out = counts.fold(pattern.len(), |length, count| length.saturating_mul(count.max(1)));
    let fine = written_out.saturating_mul(text.len()) <= MOST_STEPS || written_out == pattern.len();
    if fine { Ok(()) } else { Err(EvalError::CostExceeded) }
}

fn with<'a>(
    text: &str,
    pattern: &str,
    use_it: impl FnOnce(&Regex) -> Value<'a>,
) -> Result<Value<'a>, EvalError> {
    in_proportion(text, pattern)?;
    COMPILED.with_borrow_mut(|kept| {
        let place = match kept.iter().position(|(known, _)| **known == *pattern) {
            Some(place) => place,
            None => {
                if kept.len() >= KEPT {
                    kept.remove(0);
                }
                kept.push((pattern.into(), compile(pattern)?));
                kept.len() - 1
            }
        };
        Ok(use_it(&kept[place].1))
    })
}
