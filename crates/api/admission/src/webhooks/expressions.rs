//! The variables that a webhook's conditions may use, and their evaluation for one request.

use std::sync::{Arc, OnceLock};

use kedge_cel::{Budget, Decl, Env, PER_CALL_LIMIT, Program, Type, Value};
use kedge_registry::gate::Review;

use crate::request::Request;

/// What all conditions of one webhook may cost together for one request.
const BUDGET: u64 = PER_CALL_LIMIT * 5 / 2;

fn env() -> &'static Env {
    static ENV: OnceLock<Env> = OnceLock::new();
    ENV.get_or_init(|| {
        Env::new()
            .variable("object", Type::Dyn)
            .variable("oldObject", Type::Dyn)
            .variable("request", request())
            .variable("namespaceObject", Type::Dyn)
    })
}

fn request() -> Decl {
    let text = || Decl::from(Type::String);
    let kind = || {
        let fields = [("group", text()), ("version", text()), ("kind", text())];
        Decl::object("kubernetes.GroupVersionKind", fields)
    };
    let resource = || {
        let fields = [("group", text()), ("version", text()), ("resource", text())];
        Decl::object("kubernetes.GroupVersionResource", fields)
    };
    let extra = Type::Map(Arc::new(Type::String), Arc::new(Type::List(Arc::new(Type::String))));
    let user = [
        ("username", text()),
        ("uid", text()),
        ("groups", Decl::from(Type::List(Arc::new(Type::String)))),
        ("extra", Decl::from(extra)),
    ];
    let fields = [
        ("kind", kind()),
        ("resource", resource()),
        ("subResource", text()),
        ("requestKind", kind()),
        ("requestResource", resource()),
        ("requestSubResource", text()),
        ("name", text()),
        ("namespace", text()),
        ("operation", text()),
        ("userInfo", Decl::object("kubernetes.UserInfo", user)),
        ("dryRun", Decl::from(Type::Bool)),
        ("options", Decl::from(Type::Dyn)),
    ];
    Decl::object("kubernetes.AdmissionRequest", fields)
}

pub(crate) fn compile(expression: &str) -> Result<Program, String> {
    let issues = match env().compile(expression) {
        Ok(program) => return Ok(program),
        Err(issues) => issues,
    };
    let said: Vec<String> = issues.iter().map(ToString::to_string).collect();
    Err(format!("compilation error: compilation failed: {}", said.join("\n")))
}

/// The verdict of each condition, or why it has none.
pub(crate) fn evaluate(
    conditions: &[Result<Program, String>],
    review: &Review<'_>,
    seen: Option<&kedge_kinds::Kind>,
) -> Vec<Result<bool, String>> {
    let null = serde_json::Value::Null;
    // The objects are variables of their own; within the request they would be there twice.
    let described = Request { object: None, old_object: None, ..Request::of(review, "", seen) };
    let described = serde_json::to_value(described).unwrap_or_default();
    let variables = vec![
        ("object", Value::json(review.object.unwrap_or(&null))),
        ("oldObject", Value::json(review.old.unwrap_or(&null))),
        ("request", Value::json(&described)),
        ("namespaceObject", Value::Null),
    ];
    let mut budget = Budget::new(BUDGET);
    let verdicts = conditions.iter().map(|condition| {
        let program = condition.as_ref().map_err(Clone::clone)?;
        match program.eval(&variables, &mut budget) {
            Ok(value) => value.as_bool().ok_or_else(|| "the expression yields no truth".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
    verdicts.collect()
}
