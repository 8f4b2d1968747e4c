//! FlowSchemas and PriorityLevelConfigurations: whose requests wait for whose.

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, fill, fill_number, flag, has, int, list, number, open, text, texts};
use super::names;
use crate::strategy::Strategy;

pub(super) struct FlowSchemas;
pub(super) struct PriorityLevels;

impl Strategy for FlowSchemas {
    fn default(&self, schema: &mut Value) {
        fill(schema, "status", Map::new());
        let Some(spec) = open(schema, "spec") else { return };
        fill_number(spec, "matchingPrecedence", 1000);
        fill(spec, "priorityLevelConfiguration", Map::new());
    }

    fn prepare_create(&self, schema: &mut Value) {
        fill(schema, "status", Map::new());
    }

    fn validate(&self, schema: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(schema, "spec"));
        let precedence = number(spec, "matchingPrecedence");
        let at_precedence = path.child("matchingPrecedence");
        if precedence <= 0 {
            errors.invalid(&at_precedence, &precedence.into(), "must be a positive value");
        }
        if precedence > 10000 {
            errors.invalid(&at_precedence, &precedence.into(), "must not be greater than 10000");
        }
        if precedence == 1 && text(at(schema, "metadata"), "name") != "exempt" {
            let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
            errors.invalid(&at_precedence, &precedence.into(), detail);
        }
        if has(spec, "distinguisherMethod") {
            let method = at(at(spec, "distinguisherMethod"), "type");
            let path = path.child("distinguisherMethod");
            names::one_of_if_set(errors, &path.child("type"), method, &["ByNamespace", "ByUser"]);
        }
        let at_level = path.child("priorityLevelConfiguration");
        match text(at(spec, "priorityLevelConfiguration"), "name") {
            "" => errors.required(&at_level.child("name"), "must reference a priority level"),
            name => names::subdomain(errors, &at_level.child("name"), name),
        }
        for (i, rule) in list(spec, "rules").iter().enumerate() {
            rules(errors, &path.child("rules").index(i), rule);
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

impl Strategy for PriorityLevels {
    fn default(&self, level: &mut Value) {
        fill(level, "status", Map::new());
        let Some(spec) = open(level, "spec") else { return };
        if let Some(exempt) = spec.get_mut("exempt") {
            fill(exempt, "nominalConcurrencyShares", 0);
            fill(exempt, "lendablePercent", 0);
        }
        if let Some(limited) = spec.get_mut("limited") {
            fill(limited, "nominalConcurrencyShares", 30);
            fill(limited, "lendablePercent", 0);
            if let Some(queuing) = limited.pointer_mut("/limitResponse/queuing") {
                fill_number(queuing, "handSize", 8);
                fill_number(queuing, "queues", 64);
                fill_number(queuing, "queueLengthLimit", 50);
            }
        }
    }

    fn prepare_create(&self, level: &mut Value) {
        fill(level, "status", Map::new());
    }

    fn validate(&self, level: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(level, "spec"));
        let kind = text(spec, "type");
        if (text(at(level, "metadata"), "name") == "exempt") != (kind == "Exempt") {
            names::wrong(
                errors,
                &path.child("type"),
                kind,
                "must be 'Exempt' if and only if `name` is 'exempt'",
            );
        }
        match kind {
            "Exempt" => {
                if has(spec, "limited") {
                    errors.forbidden(&path.child("limited"), "must be nil if the type is not Limited");
                }
                shares(errors, &path.child("exempt"), at(spec, "exempt"));
            }
            "Limited" => {
                if has(spec, "exempt") {
                    errors.forbidden(&path.child("exempt"), "must be nil if the type is Limited");
                }
                if !has(spec, "limited") {
                    errors.required(&path.child("limited"), "must not be empty when type is Limited");
                } else {
                    limited(errors, &path.child("limited"), at(spec, "limited"));
                }
            }
            other => names::one_of(errors, &path.child("type"), other, &["Exempt", "Limited"]),
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

fn rules(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    let subjects = list(rule, "subjects");
    if subjects.is_empty() {
        errors.required(&path.child("subjects"), "subjects must contain at least one value");
    }
    for (i, subject) in subjects.iter().enumerate() {
        one_subject(errors, &path.child("subjects").index(i), subject);
    }
    let (resources, others) = (list(rule, "resourceRules"), list(rule, "nonResourceRules"));
    if resources.is_empty() && others.is_empty() {
        errors.required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    for (i, rule) in resources.iter().enumerate() {
        let path = path.child("resourceRules");
        let path = path.index(i);
        verbs(errors, &path, rule);
        for (field, called) in [("apiGroups", "api group"), ("resources", "resource")] {
            if list(rule, field).is_empty() {
                let detail = format!("resource rules must supply at least one {called}");
                errors.required(&path.child(field), &detail);
            }
            alone(errors, &path, rule, field, &format!("{called}s"));
        }
        if list(rule, "namespaces").is_empty() && !flag(rule, "clusterScope") {
            let detail = "resource rules that are not cluster scoped must supply at least one namespace";
            errors.required(&path.child("namespaces"), detail);
        }
        alone(errors, &path, rule, "namespaces", "namespaces");
    }
    for (i, rule) in others.iter().enumerate() {
        let path = path.child("nonResourceRules");
        let path = path.index(i);
        verbs(errors, &path, rule);
        if list(rule, "nonResourceURLs").is_empty() {
            let detail = "nonResourceURLs must contain at least one value";
            errors.required(&path.child("nonResourceURLs"), detail);
        }
        alone(errors, &path, rule, "nonResourceURLs", "non-resource URLs");
    }
}

/// `*` says everything, so nothing else is to be said beside it.
fn alone(errors: &mut Errors, path: &Path<'_>, rule: &Value, field: &str, called: &str) {
    if list(rule, field).len() > 1 && texts(rule, field).any(|value| value == "*") {
        let detail = format!("if '*' is present, must not specify other {called}");
        errors.invalid(&path.child(field), at(rule, field), &detail);
    }
}

fn verbs(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    const VERBS: &[&str] = &[
        "connect",
        "create",
        "delete",
        "deletecollection",
        "get",
        "head",
        "list",
        "options",
        "patch",
        "post",
        "proxy",
        "put",
        "update",
        "watch",
    ];
    if list(rule, "verbs").is_empty() {
        errors.required(&path.child("verbs"), "verbs must contain at least one value");
    }
    alone(errors, path, rule, "verbs", "verbs");
    if !texts(rule, "verbs").all(|verb| verb == "*" || VERBS.contains(&verb)) {
        errors.not_supported(&path.child("verbs"), at(rule, "verbs"), VERBS);
    }
}

fn one_subject(errors: &mut Errors, path: &Path<'_>, subject: &Value) {
    const KINDS: &[(&str, &str)] =
        &[("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = text(subject, "kind");
    let Some((_, field)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        return errors.not_supported(&path.child("kind"), &kind.into(), &["Group", "ServiceAccount", "User"]);
    };
    if !has(subject, field) {
        errors.required(&path.child(field), &format!("{field} is required when subject kind is '{kind}'"));
    } else if text(at(subject, field), "name").is_empty() {
        errors.required(&path.child(field).child("name"), "");
    }
    if kind == "ServiceAccount" && has(subject, field) && text(at(subject, field), "namespace").is_empty() {
        let detail = "must specify namespace for service account";
        errors.required(&path.child(field).child("namespace"), detail);
    }
    for (other, field) in KINDS.iter().filter(|(other, field)| *other != kind && has(subject, field)) {
        let detail = format!("{field} is forbidden when subject kind is not '{other}'");
        errors.forbidden(&path.child(field), &detail);
    }
}

fn shares(errors: &mut Errors, path: &Path<'_>, level: &Value) {
    if number(level, "nominalConcurrencyShares") < 0 {
        let path = path.child("nominalConcurrencyShares");
        errors.invalid(&path, at(level, "nominalConcurrencyShares"), "must be a non-negative integer");
    }
    names::between(errors, &path.child("lendablePercent"), number(level, "lendablePercent"), 0, 100);
}

fn limited(errors: &mut Errors, path: &Path<'_>, level: &Value) {
    shares(errors, path, level);
    if let Some(percent) = int(level, "borrowingLimitPercent")
        && percent < 0
    {
        let detail = "if specified, must be a non-negative integer";
        errors.invalid(&path.child("borrowingLimitPercent"), &percent.into(), detail);
    }
    let (path, response) = (path.child("limitResponse"), at(level, "limitResponse"));
    match (text(response, "type"), has(response, "queuing")) {
        ("Reject", true) => {
            errors.forbidden(
                &path.child("queuing"),
                "must be nil if limited.limitResponse.type is not Limited",
            );
        }
        ("Queue", false) => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            errors.required(&path.child("queuing"), detail);
        }
        ("Queue" | "Reject", _) => {}
        (other, _) => names::one_of(errors, &path.child("type"), other, &["Queue", "Reject"]),
    }
}
