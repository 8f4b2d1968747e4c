//! The expressions of policies and webhooks: whether each compiles and yields what its place wants. Runs none of them.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::expressions::{Language, Uses, Yields};
use crate::strategies::fields::{at, has, list, text};
use crate::strategies::names;

const MOST_CONDITIONS: usize = 64;
const MOST_ANNOTATIONS: usize = 20;
const LONGEST_VALUE: usize = 5 * 1024;
const REASONS: &[&str] = &["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// Match conditions, which may use no variables.
pub(super) fn conditions(errors: &mut Errors, path: &Path<'_>, conditions: &[Value], params: bool) {
    if conditions.len() > MOST_CONDITIONS {
        errors.too_many(path, conditions.len(), MOST_CONDITIONS);
    }
    let language = Language::without_variables();
    for (i, condition) in conditions.iter().enumerate() {
        let path = path.index(i);
        let uses = Uses { params, authorizer: true, patches: false };
        match text(condition, "expression").trim() {
            "" => errors.required(&path.child("expression"), ""),
            source => {
                compile(errors, &path.child("expression"), &language, source, source, uses, Yields::Bool)
            }
        }
        let name = text(condition, "name");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
            continue;
        }
        names::qualified(errors, &path.child("name"), name);
        if conditions.iter().take(i).any(|other| text(other, "name") == name) {
            errors.duplicate(&path.child("name"), &name.into());
        }
    }
}

/// Everything in a policy that is an expression, in the order in which each may use the one before.
pub(super) fn policy(errors: &mut Errors, path: &Path<'_>, policy: &Value, mutating: bool) {
    let spec = at(policy, "spec");
    let params = has(spec, "paramKind");
    conditions(errors, &path.child("matchConditions"), list(spec, "matchConditions"), params);
    let uses = Uses { params, authorizer: true, patches: false };
    let mut language = if mutating || !list(spec, "variables").is_empty() {
        Language::with_variables(Default::default())
    } else {
        Language::without_variables()
    };
    for (i, one) in list(spec, "variables").iter().enumerate() {
        variable(errors, &path.child("variables").index(i), &mut language, one, uses);
    }
    if mutating {
        mutations(errors, &path.child("mutations"), &language, list(spec, "mutations"), uses);
    } else {
        let name = text(at(policy, "metadata"), "name");
        validations(errors, path, &language, spec, uses);
        annotations(errors, &path.child("auditAnnotations"), &language, spec, name, uses);
    }
}

fn variable(errors: &mut Errors, path: &Path<'_>, language: &mut Language, variable: &Value, uses: Uses) {
    let (name, source) = (text(variable, "name"), text(variable, "expression"));
    if name.trim().is_empty() {
        errors.required(&path.child("name"), "name is not specified");
    } else if !is_identifier(name) {
        names::wrong(errors, &path.child("name"), name, "must be a valid CEL identifier");
    }
    if source.trim().is_empty() {
        return errors.required(&path.child("expression"), "expression is not specified");
    }
    match language.compile(source, uses, Yields::Anything) {
        Ok(program) => language.declare(name, Some(program.output())),
        Err(error) => {
            names::wrong(errors, &path.child("expression"), source, &error.to_string());
            language.declare(name, None);
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_start)
        && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
        && !kedge_cel::RESERVED.contains(&name)
}

fn validations(errors: &mut Errors, path: &Path<'_>, language: &Language, spec: &Value, uses: Uses) {
    let (validations, annotations) = (list(spec, "validations"), list(spec, "auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        for field in ["validations", "auditAnnotations"] {
            let detail = "validations or auditAnnotations must contain at least one item";
            errors.required(&path.child(field), detail);
        }
    }
    let path = path.child("validations");
    for (i, validation) in validations.iter().enumerate() {
        let path = path.index(i);
        let (at_expression, source) = (path.child("expression"), text(validation, "expression"));
        if source.trim().is_empty() {
            errors.required(&at_expression, "expression is not specified");
        } else {
            compile(errors, &at_expression, language, source, source, uses, Yields::Bool);
        }
        let (at_message, source) = (path.child("messageExpression"), text(validation, "messageExpression"));
        if !source.is_empty() && source.trim().is_empty() {
            names::wrong(errors, &at_message, source, "must be non-empty if specified");
        } else if !source.is_empty() {
            let uses = Uses { authorizer: false, ..uses };
            compile(errors, &at_message, language, source, source, uses, Yields::Text);
        }
        let message = text(validation, "message");
        if !message.is_empty() && message.trim().is_empty() {
            names::wrong(errors, &path.child("message"), message, "must be non-empty if specified");
        } else if message.trim().contains(['\n', '\r']) {
            names::wrong(errors, &path.child("message"), message, "must not contain line breaks");
        }
        names::one_of_if_set(errors, &path.child("reason"), at(validation, "reason"), REASONS);
    }
}

fn annotations(
    errors: &mut Errors,
    path: &Path<'_>,
    language: &Language,
    spec: &Value,
    name: &str,
    uses: Uses,
) {
    let annotations = list(spec, "auditAnnotations");
    if annotations.len() > MOST_ANNOTATIONS {
        let detail = format!("must not have more than {MOST_ANNOTATIONS} auditAnnotations");
        errors.invalid(path, at(spec, "auditAnnotations"), &detail);
    }
    for (i, annotation) in annotations.iter().enumerate() {
        let path = path.index(i);
        let key = text(annotation, "key");
        if name.is_empty() {
            names::wrong(errors, &path.child("key"), key, "requires metadata.name be non-empty");
        } else {
            names::qualified(errors, &path.child("key"), &format!("{name}/{key}"));
        }
        let (at_value, sent) = (path.child("valueExpression"), text(annotation, "valueExpression"));
        match sent.trim() {
            "" => errors.required(&at_value, "valueExpression is not specified"),
            source if source.len() > LONGEST_VALUE => {
                errors.required(&at_value, &format!("must not exceed {LONGEST_VALUE} bytes in length"));
            }
            source => compile(errors, &at_value, language, source, sent, uses, Yields::TextOrNull),
        }
        if annotations.iter().take(i).any(|other| text(other, "key") == key) {
            errors.duplicate(&path.child("key"), &key.into());
        }
    }
}

fn mutations(errors: &mut Errors, path: &Path<'_>, language: &Language, mutations: &[Value], uses: Uses) {
    const TYPES: [(&str, &str, Yields); 2] = [
        ("ApplyConfiguration", "applyConfiguration", Yields::Configuration),
        ("JSONPatch", "jsonPatch", Yields::Patches),
    ];
    if mutations.is_empty() {
        errors.required(path, "mutations must contain at least one item");
    }
    let uses = Uses { patches: true, ..uses };
    for (i, mutation) in mutations.iter().enumerate() {
        let path = path.index(i);
        let kind = text(mutation, "patchType");
        let Some((kind, field, yields)) = TYPES.into_iter().find(|(name, ..)| *name == kind) else {
            match kind {
                "" => errors.required(&path.child("patchType"), ""),
                other => errors.not_supported(
                    &path.child("patchType"),
                    &other.into(),
                    &["ApplyConfiguration", "JSONPatch"],
                ),
            }
            continue;
        };
        let given = path.child(field);
        match text(at(mutation, field), "expression").trim() {
            _ if !has(mutation, field) => {
                errors.required(&given, &format!("must be specified when patchType is {kind}"));
            }
            "" => errors.required(&given.child("expression"), ""),
            source => compile(errors, &given.child("expression"), language, source, source, uses, yields),
        }
        for (_, other, _) in TYPES.into_iter().filter(|(_, other, _)| *other != field && has(mutation, other))
        {
            let detail = format!("must not be specified when patchType is {kind}");
            names::wrong(errors, &path.child(other), &format!("{{{other}}}"), &detail);
        }
    }
}

fn compile(
    errors: &mut Errors,
    path: &Path<'_>,
    language: &Language,
    source: &str,
    shown: &str,
    uses: Uses,
    yields: Yields,
) {
    if let Err(error) = language.compile(source, uses, yields) {
        names::wrong(errors, path, shown, &error.to_string());
    }
}
