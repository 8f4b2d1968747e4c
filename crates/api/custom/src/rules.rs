//! `x-kubernetes-validations`: rules in CEL that a value must fulfil.

use serde_json::Value;

use crate::read::{at, text};

/// The rules of one node, in the order in which they are written.
#[derive(Debug)]
pub(crate) struct RuleSet {
    pub(crate) rules: Box<[Rule]>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) rule: Box<str>,
    pub(crate) message: Box<str>,
    pub(crate) message_expression: Box<str>,
    pub(crate) reason: Box<str>,
    pub(crate) field_path: Box<str>,
    pub(crate) optional_old: Option<bool>,
}

impl RuleSet {
    pub(crate) fn parse(rules: &[Value]) -> Option<Box<Self>> {
        let rules: Box<[Rule]> = rules
            .iter()
            .map(|rule| Rule {
                rule: text(rule, "rule").into(),
                message: text(rule, "message").into(),
                message_expression: text(rule, "messageExpression").into(),
                reason: text(rule, "reason").into(),
                field_path: text(rule, "fieldPath").into(),
                optional_old: at(rule, "optionalOldSelf").as_bool(),
            })
            .collect();
        (!rules.is_empty()).then(|| Box::new(Self { rules }))
    }
}
