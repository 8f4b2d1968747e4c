//! What a policy's expressions see of one request, and what they have cost so far. Variables are made when first asked for.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use kedge_cel::{Activation, Authorizer, Budget, Check, CheckTarget, Decision, EvalError, Resource, Value};
use kedge_registry::{Attributes, User};
use serde_json::Value as Json;

use super::policy::{Expression, Policy};

/// What all validations of one policy may cost for one request, and what all its conditions may.
pub(super) const BUDGET: u64 = 10_000_000;
pub(super) const CONDITIONS_BUDGET: u64 = BUDGET / 4;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    #[error("compilation error: {0}")]
    Uncompiled(String),
    #[error("expression '{source_text}' resulted in error: {error}")]
    Failed { source_text: String, error: EvalError },
    /// Whatever comes after it is not looked at any more.
    #[error("validation failed due to running out of cost budget, no further validation rules will be run")]
    OutOfBudget,
}

/// The variables of one evaluation. Null where there is nothing.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) object: &'a Json,
    pub(super) old: &'a Json,
    pub(super) params: &'a Json,
    pub(super) request: &'a Json,
    pub(super) namespace: &'a Json,
    pub(super) asker: &'a Asker,
}

/// Who the user is and who says what they may.
pub(crate) struct Asker {
    authorizer: Arc<dyn Authorizer>,
    resource: Resource,
}

pub(super) struct Scene<'a> {
    inputs: Inputs<'a>,
    policy: &'a Policy,
    made: RefCell<HashMap<&'a str, Result<Value<'a>, EvalError>>>,
    /// What variables cost since last asked.
    spent: Cell<u64>,
    left: Cell<u64>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(policy: &'a Policy, inputs: Inputs<'a>, budget: u64) -> Self {
        Self { inputs, policy, made: RefCell::default(), spent: Cell::new(0), left: Cell::new(budget) }
    }

    pub(super) fn eval(&self, expression: &'a Expression) -> Result<Value<'a>, Failure> {
        let program = expression.program.as_ref().map_err(|why| Failure::Uncompiled(why.clone()))?;
        let mut budget = Budget::new(kedge_cel::PER_CALL_LIMIT);
        let value = program.eval(self, &mut budget);
        let cost = self.spent.replace(0).saturating_add(budget.spent());
        let left = self.left.get().checked_sub(cost).ok_or(Failure::OutOfBudget)?;
        self.left.set(left);
        value.map_err(|error| Failure::Failed { source_text: expression.source.clone(), error })
    }

    fn make(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        if let Some(made) = self.made.borrow().get(name) {
            return Some(made.clone());
        }
        let (name, variable) = self.policy.variables.iter().find(|(known, _)| known == name)?;
        let value = match &variable.program {
            Err(why) => {
                Err(EvalError::Function(format!("composited variable {name:?} fails to compile: {why}")))
            }
            Ok(program) => {
                let mut budget = Budget::new(kedge_cel::PER_CALL_LIMIT);
                let value = program.eval(self, &mut budget);
                self.spent.set(self.spent.get().saturating_add(budget.spent()));
                value.map_err(|error| {
                    let why = format!("composited variable {name:?} fails to evaluate: {error}");
                    EvalError::Function(why)
                })
            }
        };
        self.made.borrow_mut().insert(name, value.clone());
        Some(value)
    }
}

impl<'a> Activation<'a> for Scene<'a> {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        let Inputs { object, old, params, request, namespace, asker } = self.inputs;
        Some(Ok(match name {
            "object" => Value::json(object),
            "oldObject" => Value::json(old),
            "params" => Value::json(params),
            "request" => Value::json(request),
            "namespaceObject" => Value::json(namespace),
            "variables" => Value::lazy("variables"),
            name => return asker.value(name).map(Ok),
        }))
    }

    fn field(&self, variable: &str, field: &str) -> Option<Result<Value<'a>, EvalError>> {
        if variable == "variables" { self.make(field) } else { None }
    }
}

impl Asker {
    pub(crate) fn new(
        authorizer: Option<Arc<dyn kedge_registry::Authorizer>>,
        user: &User,
        resource: Resource,
    ) -> Self {
        Self { authorizer: Arc::new(Asks { authorizer, user: user.clone() }), resource }
    }

    /// The two variables by which an expression asks who may what.
    pub(crate) fn value<'a>(&self, name: &str) -> Option<Value<'a>> {
        match name {
            "authorizer" => Some(Value::authorizer(self.authorizer.clone())),
            "authorizer.requestResource" => {
                Some(Value::request_resource(self.authorizer.clone(), self.resource.clone()))
            }
            _ => None,
        }
    }
}

struct Asks {
    authorizer: Option<Arc<dyn kedge_registry::Authorizer>>,
    user: User,
}

impl Authorizer for Asks {
    fn check(&self, check: &Check) -> Decision {
        let Some(authorizer) = &self.authorizer else {
            let error = Some("nobody here knows who may what".to_owned());
            return Decision { allowed: false, reason: String::new(), error };
        };
        let user = check.service_account.as_ref().map(|(namespace, name)| service_account(namespace, name));
        let mut attributes = Attributes { verb: &check.verb, ..Attributes::default() };
        match &check.target {
            CheckTarget::Path(path) => attributes.path = path,
            CheckTarget::Resource(resource) => {
                attributes.group = &resource.group;
                attributes.resource = &resource.resource;
                attributes.subresource = &resource.subresource;
                attributes.namespace = &resource.namespace;
                attributes.name = &resource.name;
            }
        }
        let decision = authorizer.decide(user.as_ref().unwrap_or(&self.user), &attributes);
        Decision { allowed: decision.allowed, reason: decision.reason, error: None }
    }
}

fn service_account(namespace: &str, name: &str) -> User {
    User {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ],
        ..User::default()
    }
}
