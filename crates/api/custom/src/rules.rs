//! `x-kubernetes-validations`: rules in CEL that a value must fulfil. Compiled when first asked, because most definitions are
//! never written to; evaluated against the object where it lies.

mod compile;
mod declared;
mod evaluate;

use std::sync::OnceLock;

use kedge_cel::Decl;
use serde_json::Value;

use crate::read::{at, text};
use crate::schema::Schema;
pub(crate) use compile::{Compiled, compile};
pub(crate) use evaluate::check;

/// The rules of one node, in the order in which they are written.
#[derive(Debug)]
pub(crate) struct RuleSet {
    rules: Box<[Rule]>,
    ready: OnceLock<Ready>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) rule: Box<str>,
    pub(crate) message: Box<str>,
    pub(crate) message_expression: Box<str>,
    pub(crate) reason: Box<str>,
    pub(crate) field_path: Box<str>,
    /// `oldSelf` is an optional value, so the rule is asked for new values too.
    pub(crate) optional_old: bool,
}

#[derive(Debug)]
struct Ready {
    decl: Option<Decl>,
    compiled: Box<[Compiled]>,
}

impl RuleSet {
    pub(crate) fn parse(rules: &[Value]) -> Option<Box<Self>> {
        let rules: Box<[Rule]> = rules.iter().map(Rule::parse).collect();
        (!rules.is_empty()).then(|| Box::new(Self { rules, ready: OnceLock::new() }))
    }

    fn ready(&self, schema: &Schema, whole: bool) -> &Ready {
        self.ready.get_or_init(|| {
            let decl = declare(schema, whole);
            let compiled =
                decl.as_ref().map(|decl| self.rules.iter().map(|rule| compile(rule, schema, decl)));
            Ready { compiled: compiled.into_iter().flatten().collect(), decl }
        })
    }
}

impl Rule {
    pub(crate) fn parse(rule: &Value) -> Self {
        Self {
            rule: text(rule, "rule").into(),
            message: text(rule, "message").into(),
            message_expression: text(rule, "messageExpression").into(),
            reason: text(rule, "reason").into(),
            field_path: text(rule, "fieldPath").into(),
            optional_old: at(rule, "optionalOldSelf").as_bool().unwrap_or_default(),
        }
    }

    /// How messages call the rule.
    fn called(&self) -> &str {
        if self.message.is_empty() { self.rule.trim() } else { self.message.trim() }
    }
}

/// What rules see of values with this schema; none if they can see nothing. `whole` says that it is a whole object.
pub(crate) fn declare(schema: &Schema, whole: bool) -> Option<Decl> {
    Decl::from_schema(schema, whole, "selfType")
}

#[cfg(test)]
mod tests;
