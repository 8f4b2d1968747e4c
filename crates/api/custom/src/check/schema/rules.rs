//! The rules of a schema: their texts, whether they compile, and what they can cost at worst.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::check::paths::follow;
use crate::read::{at, text};

const REASONS: &[&str] =
    &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What is wrong with the texts of rules, before any is compiled.
pub(super) fn texts(schema: &Value, rules: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let broken = |text: &str| text.contains(['\n', '\r']);
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let (source, message) = (text(rule, "rule").trim(), text(rule, "message"));
        if source.is_empty() {
            errors.required(&path.child("rule"), "rule is not specified");
        } else if !message.is_empty() && message.trim().is_empty() {
            errors.invalid(&path.child("message"), &message.into(), "must be non-empty if specified");
        } else if broken(message.trim()) {
            errors.invalid(&path.child("message"), &message.into(), "must not contain line breaks");
        } else if broken(source) && message.trim().is_empty() {
            errors.required(&path.child("message"), "message must be specified if rule contains line breaks");
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            errors.required(&path.child("messageExpression"), detail);
        }
        let reason = at(rule, "reason");
        if reason.as_str().is_some_and(|reason| !REASONS.contains(&reason)) {
            errors.not_supported(&path.child("reason"), reason, REASONS);
        }
        let given = text(rule, "fieldPath");
        let path = path.child("fieldPath");
        if !given.is_empty() && given.trim().is_empty() {
            errors.invalid(&path, &given.into(), "must be non-empty if specified");
        }
        if broken(given) {
            errors.invalid(&path, &given.into(), "must not contain line breaks");
        }
        if !given.is_empty() && follow(given, schema, true).is_err() {
            errors.invalid(&path, &given.into(), "must be a valid path");
        }
    }
}

/// What is known of a node from those above it.
#[derive(Clone)]
pub(super) struct Context<'c> {
    _schema: Option<&'c Value>,
}

impl<'c> Context<'c> {
    pub(super) fn none() -> Self {
        Self { _schema: None }
    }

    pub(super) fn root(schema: &'c Value, _unchanged: bool) -> Self {
        Self { _schema: Some(schema) }
    }

    pub(super) fn property(&self, _parent: &'c Value, _name: &str, schema: &'c Value) -> Self {
        Self { _schema: Some(schema) }
    }

    pub(super) fn items(&self, _parent: &'c Value, schema: &'c Value) -> Self {
        Self { _schema: Some(schema) }
    }

    pub(super) fn entries(&self, _parent: &'c Value, schema: &'c Value) -> Self {
        Self { _schema: Some(schema) }
    }
}

#[derive(Default)]
pub(super) struct Rules {
    errors: Errors,
}

impl Rules {
    pub(super) fn compile(
        &mut self,
        _schema: &Value,
        _rules: &[Value],
        _path: &Path<'_>,
        _uncorrelated: Option<&str>,
        _context: &Context<'_>,
    ) {
    }

    pub(super) fn finish(self, _path: &Path<'_>, errors: &mut Errors) {
        errors.append(self.errors);
    }
}
