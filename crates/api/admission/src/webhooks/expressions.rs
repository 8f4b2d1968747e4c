//! The conditions of a webhook, compiled once and evaluated for one request.

use kedge_cel::{Activation, Budget, EvalError, PER_CALL_LIMIT, Program, Resource, Value};
use kedge_registry::expressions::{Language, Uses, Yields};
use kedge_registry::gate::Review;
use serde_json::Value as Json;

use crate::policies::scene::Asker;
use crate::request::Request;

/// What all conditions of one webhook may cost together for one request.
const BUDGET: u64 = PER_CALL_LIMIT * 5 / 2;

#[derive(Debug)]
pub(crate) struct Expression {
    source: String,
    program: Result<Program, String>,
}

impl Expression {
    pub(crate) fn new(source: &str) -> Self {
        let uses = Uses { params: false, authorizer: true, patches: false };
        let compiled = Language::without_variables().compile(source, uses, Yields::Bool);
        Self { source: source.to_owned(), program: compiled.map_err(|error| error.to_string()) }
    }

    fn verdict<'a>(&'a self, scene: &Scene<'a>, left: &mut u64) -> Result<bool, String> {
        let program = self.program.as_ref().map_err(|why| format!("compilation error: {why}"))?;
        let mut budget = Budget::new(PER_CALL_LIMIT.min(*left));
        let value = program.eval(scene, &mut budget);
        *left = left.saturating_sub(budget.spent());
        let failed = |error: &dyn std::fmt::Display| {
            format!("expression '{}' resulted in error: {error}", self.source)
        };
        value.map_err(|error| failed(&error))?.as_bool().ok_or_else(|| failed(&"not a bool"))
    }
}

struct Scene<'a> {
    object: &'a Json,
    old: &'a Json,
    request: &'a Json,
    asker: &'a Asker,
}

impl<'a> Activation<'a> for Scene<'a> {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        Some(Ok(match name {
            "object" => Value::json(self.object),
            "oldObject" => Value::json(self.old),
            "request" => Value::json(self.request),
            "namespaceObject" => Value::Null,
            name => return self.asker.value(name).map(Ok),
        }))
    }
}

/// The verdict of each condition, or why it has none.
pub(crate) fn evaluate(
    conditions: &[Expression],
    review: &Review<'_>,
    seen: Option<&kedge_kinds::Kind>,
) -> Vec<Result<bool, String>> {
    let null = Json::Null;
    // The objects are variables of their own; within the request they would be there twice.
    let described = Request { object: None, old_object: None, ..Request::of(review, "", seen) };
    let described = serde_json::to_value(described).unwrap_or_default();
    let kind = &review.at.kind;
    let resource = Resource {
        group: kind.gv.group.clone(),
        resource: kind.plural.clone(),
        subresource: review.subresource().into(),
        namespace: review.namespace().into(),
        name: review.name().into(),
        ..Resource::default()
    };
    let authorizer = review.registry.authorizer().cloned();
    let asker = Asker::new(authorizer, &review.options.user, resource);
    let scene = Scene {
        object: review.object.unwrap_or(&null),
        old: review.old.unwrap_or(&null),
        request: &described,
        asker: &asker,
    };
    let mut left = BUDGET;
    conditions.iter().map(|condition| condition.verdict(&scene, &mut left)).collect()
}
