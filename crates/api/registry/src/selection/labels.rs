//! Label selectors, as text in a request and as the struct that specs carry.

use serde_json::Value;

use crate::{names, object};

/// All of its requirements must hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    pub(crate) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|requirement| {
            let value = label(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.operator {
                Operator::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
                Operator::NotIn(values) => value.is_none_or(|value| !values.iter().any(|one| one == value)),
                Operator::Exists => value.is_some(),
                Operator::Absent => value.is_none(),
                Operator::Greater(than) => number().is_some_and(|number| number > *than),
                Operator::Less(than) => number().is_some_and(|number| number < *than),
            }
        })
    }

    /// `app in (x,y),!tier,env!=prod`
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text);
        let mut rest = tokens.as_slice();
        let mut all = Vec::new();
        while let Some((first, _)) = rest.split_first() {
            if *first == "," && !all.is_empty() {
                rest = rest.get(1..).unwrap_or_default();
                if rest.is_empty() {
                    return Err("found '', expected: identifier after ','".to_owned());
                }
            }
            let (requirement, left) =
                requirement(rest).map_err(|why| format!("unable to parse requirement: {why}"))?;
            all.push(requirement);
            rest = left;
            if let Some(next) = rest.first().filter(|next| **next != ",") {
                return Err(format!("found '{next}', expected: ',' or 'end of string'"));
            }
        }
        Ok(Self(all))
    }

    /// From `matchLabels` and `matchExpressions`.
    pub(crate) fn of(selector: &Value) -> Self {
        let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        let equal = labels.map(|(key, value)| Requirement {
            key: key.clone(),
            operator: Operator::In(vec![value.as_str().unwrap_or_default().to_owned()]),
        });
        let terms = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
        let expressions = terms.map(|term| {
            let values = term.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            let operator = match object::text(term, &["operator"]) {
                "In" => Operator::In(values),
                "NotIn" => Operator::NotIn(values),
                "Exists" => Operator::Exists,
                _ => Operator::Absent,
            };
            Requirement { key: object::text(term, &["key"]).to_owned(), operator }
        });
        Self(equal.chain(expressions).collect())
    }
}

fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' | ',' | '<' | '>' => 1,
            '=' if rest.starts_with("==") => 2,
            '!' if rest.starts_with("!=") => 2,
            '=' | '!' => 1,
            _ => rest.find(|c: char| c.is_whitespace() || "(),<>=!".contains(c)).unwrap_or(rest.len()),
        };
        let (token, left) = rest.split_at(length);
        tokens.push(token);
        rest = left.trim_start();
    }
    tokens
}

fn is_word(token: &str) -> bool {
    !token.starts_with(['(', ')', ',', '<', '>', '=', '!'])
}

fn requirement<'t>(tokens: &'t [&'t str]) -> Result<(Requirement, &'t [&'t str]), String> {
    let (negated, tokens) = match tokens.split_first() {
        Some((&"!", rest)) => (true, rest),
        _ => (false, tokens),
    };
    let Some((&key, rest)) = tokens.split_first().filter(|(key, _)| is_word(key)) else {
        return Err(format!("found '{}', expected: identifier", tokens.first().unwrap_or(&"")));
    };
    if let Some(wrong) = names::qualified_name(key).first() {
        return Err(format!("<nil>: Invalid value: {key:?}: {wrong}"));
    }
    let made = |operator| Requirement { key: key.to_owned(), operator };
    if negated {
        return Ok((made(Operator::Absent), rest));
    }
    match rest.split_first() {
        None | Some((&",", _)) => Ok((made(Operator::Exists), rest)),
        Some((&("=" | "=="), rest)) => {
            one(key, rest).map(|(value, rest)| (made(Operator::In(vec![value])), rest))
        }
        Some((&"!=", rest)) => one(key, rest).map(|(value, rest)| (made(Operator::NotIn(vec![value])), rest)),
        Some((&"in", rest)) => many(key, rest).map(|(values, rest)| (made(Operator::In(values)), rest)),
        Some((&"notin", rest)) => many(key, rest).map(|(values, rest)| (made(Operator::NotIn(values)), rest)),
        Some((&sign @ (">" | "<"), rest)) => {
            let (value, rest) = one(key, rest)?;
            let number = value.parse().map_err(|_| format!("values[0][{key}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"))?;
            Ok((made(if sign == ">" { Operator::Greater(number) } else { Operator::Less(number) }), rest))
        }
        Some((other, _)) => Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
    }
}

fn checked(key: &str, value: &str) -> Result<String, String> {
    match names::label_value(value).first() {
        Some(wrong) => Err(format!("values[0][{key}]: Invalid value: {value:?}: {wrong}")),
        None => Ok(value.to_owned()),
    }
}

fn one<'t>(key: &str, tokens: &'t [&'t str]) -> Result<(String, &'t [&'t str]), String> {
    match tokens.split_first() {
        Some((value, rest)) if is_word(value) => Ok((checked(key, value)?, rest)),
        None | Some((&",", _)) => Ok((String::new(), tokens)),
        Some((other, _)) => Err(format!("found '{other}', expected: identifier")),
    }
}

fn many<'t>(key: &str, tokens: &'t [&'t str]) -> Result<(Vec<String>, &'t [&'t str]), String> {
    let Some((&"(", mut rest)) = tokens.split_first() else {
        return Err(format!("found '{}' expected: '('", tokens.first().unwrap_or(&"")));
    };
    let mut values = Vec::new();
    loop {
        match rest.split_first() {
            Some((&")", left)) => return Ok((values, left)),
            Some((&",", left)) => rest = left,
            Some((value, left)) if is_word(value) => {
                values.push(checked(key, value)?);
                rest = left;
            }
            other => {
                return Err(format!(
                    "found '{}', expected: ',', ')' or identifier",
                    other.map_or("", |(token, _)| token)
                ));
            }
        }
    }
}
