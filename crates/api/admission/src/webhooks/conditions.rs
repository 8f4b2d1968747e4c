//! `matchConditions`: expressions that say whether a webhook is asked at all. What they cost and yield is `kedge-cel`'s.

use kedge_registry::gate::Review;
use serde_json::Value;

use super::expressions::{self, Expression};

/// Those of one webhook, compiled once.
#[derive(Debug)]
pub(crate) struct Conditions {
    all: Vec<Expression>,
    /// Where one can't be evaluated, the webhook isn't asked; otherwise the request fails.
    ignore: bool,
}

impl Conditions {
    pub(crate) fn read<'v>(conditions: impl Iterator<Item = &'v Value>, ignore: bool) -> Self {
        let compiled = conditions.map(|condition| {
            let expression = condition.get("expression").and_then(Value::as_str).unwrap_or_default();
            Expression::new(expression)
        });
        Self { all: compiled.collect(), ignore }
    }

    /// Whether the webhook is to be asked; `Err` says why nobody can tell.
    pub(crate) fn hold(&self, review: &Review<'_>, seen: Option<&kedge_kinds::Kind>) -> Result<bool, String> {
        if self.all.is_empty() {
            return Ok(true);
        }
        let verdicts = expressions::evaluate(&self.all, review, seen);
        if verdicts.contains(&Ok(false)) {
            return Ok(false);
        }
        let errors: Vec<String> = verdicts.into_iter().filter_map(Result::err).collect();
        match errors.as_slice() {
            [] => Ok(true),
            _ if self.ignore => Ok(false),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }
}
