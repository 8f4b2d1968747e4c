//! A policy and its bindings, read and compiled once for each change of them. Judges nothing by itself.

use kedge_cel::Program;
use kedge_registry::expressions::{Known, Language, Uses, Yields};
use serde_json::Value;

use super::criteria::Criteria;
use super::params::{ParamKind, ParamRef};

#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    /// `failurePolicy: Ignore`: who cannot be judged passes.
    pub(super) fails_open: bool,
    pub(super) constraints: Option<Criteria>,
    pub(super) params: Option<ParamKind>,
    pub(super) conditions: Vec<Expression>,
    pub(super) variables: Vec<(String, Expression)>,
    pub(super) work: Work,
}

#[derive(Debug)]
pub(super) enum Work {
    Validate {
        validations: Vec<Validation>,
        annotations: Vec<(String, Expression)>,
    },
    Mutate {
        mutations: Vec<Mutation>,
        /// Once more if others changed the object after it.
        again: bool,
    },
}

#[derive(Debug)]
pub(super) struct Expression {
    pub(super) source: String,
    pub(super) program: Result<Program, String>,
}

#[derive(Debug)]
pub(super) struct Validation {
    pub(super) rule: Expression,
    pub(super) message: String,
    pub(super) message_rule: Option<Expression>,
    pub(super) reason: String,
}

#[derive(Debug)]
pub(super) enum Mutation {
    Configuration(Expression),
    Patches(Expression),
}

#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) policy: String,
    pub(super) params: Option<ParamRef>,
    pub(super) resources: Option<Criteria>,
    pub(super) actions: Vec<String>,
}

impl Policy {
    pub(super) fn of(policy: &Value, mutating: bool) -> Self {
        let spec = policy.get("spec").unwrap_or(&Value::Null);
        let params = ParamKind::of(policy);
        let uses = Uses { params: params.is_some(), authorizer: true, patches: false };
        let mut language = Language::with_variables(Known::default());
        let plain = Language::without_variables();
        let conditions = items(spec, "matchConditions")
            .map(|one| compile(&plain, text(one, "expression").trim(), uses, Yields::Bool))
            .collect();
        let variables = items(spec, "variables")
            .map(|one| {
                let name = text(one, "name");
                let variable = compile(&language, text(one, "expression"), uses, Yields::Anything);
                language.declare(name, variable.program.as_ref().ok().map(Program::output));
                (name.to_owned(), variable)
            })
            .collect();
        let work = if mutating { mutate(&language, spec, uses) } else { validate(&language, spec, uses) };
        let constraints = spec.get("matchConstraints").filter(|constraints| !constraints.is_null());
        Self {
            name: text(policy.get("metadata").unwrap_or(&Value::Null), "name").to_owned(),
            fails_open: text(spec, "failurePolicy") == "Ignore",
            constraints: constraints.map(Criteria::of),
            params,
            conditions,
            variables,
            work,
        }
    }
}

fn validate(language: &Language, spec: &Value, uses: Uses) -> Work {
    let validations = items(spec, "validations")
        .map(|one| {
            let message_rule = Some(text(one, "messageExpression")).filter(|source| !source.is_empty());
            let told = Uses { authorizer: false, ..uses };
            Validation {
                rule: compile(language, text(one, "expression"), uses, Yields::Bool),
                message: text(one, "message").trim().to_owned(),
                message_rule: message_rule.map(|source| compile(language, source, told, Yields::Text)),
                reason: text(one, "reason").to_owned(),
            }
        })
        .collect();
    let annotations = items(spec, "auditAnnotations")
        .map(|one| {
            let value = compile(language, text(one, "valueExpression"), uses, Yields::TextOrNull);
            (text(one, "key").to_owned(), value)
        })
        .collect();
    Work::Validate { validations, annotations }
}

fn mutate(language: &Language, spec: &Value, uses: Uses) -> Work {
    let uses = Uses { patches: true, ..uses };
    let source = |one: &Value, field: &str| {
        let of = one.get(field).unwrap_or(&Value::Null);
        text(of, "expression").to_owned()
    };
    let mutations = items(spec, "mutations")
        .map(|one| match text(one, "patchType") {
            "JSONPatch" => {
                Mutation::Patches(compile(language, &source(one, "jsonPatch"), uses, Yields::Patches))
            }
            _ => Mutation::Configuration(compile(
                language,
                &source(one, "applyConfiguration"),
                uses,
                Yields::Configuration,
            )),
        })
        .collect();
    Work::Mutate { mutations, again: text(spec, "reinvocationPolicy") == "IfNeeded" }
}

fn compile(language: &Language, source: &str, uses: Uses, yields: Yields) -> Expression {
    let program = language.compile(source, uses, yields).map_err(|error| error.to_string());
    Expression { source: source.to_owned(), program }
}

impl Binding {
    pub(super) fn of(binding: &Value) -> Self {
        let spec = binding.get("spec").unwrap_or(&Value::Null);
        let resources = spec.get("matchResources").filter(|resources| !resources.is_null());
        Self {
            name: text(binding.get("metadata").unwrap_or(&Value::Null), "name").to_owned(),
            policy: text(spec, "policyName").to_owned(),
            params: ParamRef::of(binding),
            resources: resources.map(Criteria::of),
            actions: items(spec, "validationActions").filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

fn items<'v>(of: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    of.get(field).and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(of: &'v Value, field: &str) -> &'v str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}
