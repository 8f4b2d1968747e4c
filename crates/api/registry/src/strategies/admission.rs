//! Webhook configurations and admission policies: their shape. What they say about requests is asked elsewhere.

mod expressions;
mod rules;

use kedge_kinds::field::{Errors, Path};
use serde_json::{Map, Value};

use super::fields::{at, each, fill, has, list, open, text};
use super::names;
use crate::strategy::Strategy;

struct Webhooks {
    mutating: bool,
}

struct Policies {
    mutating: bool,
}

struct PolicyBindings;

pub(super) fn strategy(kind: &str) -> &'static dyn Strategy {
    match kind {
        "MutatingWebhookConfiguration" => &Webhooks { mutating: true },
        "ValidatingWebhookConfiguration" => &Webhooks { mutating: false },
        "MutatingAdmissionPolicy" => &Policies { mutating: true },
        "ValidatingAdmissionPolicy" => &Policies { mutating: false },
        _ => &PolicyBindings,
    }
}

impl Strategy for Webhooks {
    fn default(&self, configuration: &mut Value) {
        for hook in each(configuration, "webhooks") {
            fill(hook, "failurePolicy", "Fail");
            matching(hook);
            fill(hook, "timeoutSeconds", 10);
            fill(hook, "admissionReviewVersions", Value::Null);
            fill(hook, "sideEffects", Value::Null);
            if self.mutating {
                fill(hook, "reinvocationPolicy", "Never");
            }
            each(hook, "rules").for_each(|rule| fill(rule, "scope", "*"));
            if let Some(service) = open(hook, "clientConfig").and_then(|config| config.get_mut("service")) {
                fill(service, "port", 443);
            }
        }
    }

    fn validate(&self, configuration: &Value, errors: &mut Errors) {
        let hooks = list(configuration, "webhooks");
        for (i, hook) in hooks.iter().enumerate() {
            let path = Path::root("webhooks");
            let path = path.index(i);
            rules::webhook(errors, &path, hook);
            let name = text(hook, "name");
            if !name.is_empty() && hooks.iter().take(i).any(|other| text(other, "name") == name) {
                errors.duplicate(&path.child("name"), &name.into());
            }
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for Policies {
    fn default(&self, policy: &mut Value) {
        if !self.mutating {
            fill(policy, "status", Map::new());
        }
        let Some(spec) = open(policy, "spec") else { return };
        fill(spec, "failurePolicy", "Fail");
        if let Some(constraints) = spec.get_mut("matchConstraints") {
            match_resources(constraints);
        }
    }

    fn validate(&self, policy: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(policy, "spec"));
        let failure = text(spec, "failurePolicy");
        names::one_of(errors, &path.child("failurePolicy"), failure, &["Fail", "Ignore"]);
        if has(spec, "paramKind") {
            rules::param_kind(errors, &path.child("paramKind"), at(spec, "paramKind"));
        }
        let (at_match, constraints) = (path.child("matchConstraints"), at(spec, "matchConstraints"));
        if constraints.is_null() {
            errors.required(&at_match, "");
        } else {
            rules::resources(errors, &at_match, constraints);
            if list(constraints, "resourceRules").is_empty() {
                errors.required(&at_match.child("resourceRules"), "");
            }
        }
        if self.mutating {
            rules::changing(errors, &at_match, constraints);
        }
        expressions::policy(errors, &path, policy, self.mutating);
        if self.mutating {
            let again = text(spec, "reinvocationPolicy");
            names::one_of(errors, &path.child("reinvocationPolicy"), again, &["IfNeeded", "Never"]);
        }
    }

    fn validate_status(&self, policy: &Value, _: &Value, errors: &mut Errors) {
        let (path, checked) = (Path::root("status"), at(at(policy, "status"), "typeChecking"));
        let path = path.child("typeChecking");
        let path = path.child("expressionWarnings");
        for (i, warning) in list(checked, "expressionWarnings").iter().enumerate() {
            for field in ["warning", "fieldRef"] {
                if text(warning, field).trim().is_empty() {
                    errors.required(&path.index(i).child(field), "");
                }
            }
        }
    }

    fn prepare_create(&self, policy: &mut Value) {
        if !self.mutating {
            fill(policy, "status", Map::new());
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

impl Strategy for PolicyBindings {
    fn default(&self, binding: &mut Value) {
        let Some(spec) = open(binding, "spec") else { return };
        if let Some(resources) = spec.get_mut("matchResources") {
            match_resources(resources);
        }
    }

    fn validate(&self, binding: &Value, errors: &mut Errors) {
        let (path, spec) = (Path::root("spec"), at(binding, "spec"));
        match text(spec, "policyName") {
            "" => errors.required(&path.child("policyName"), ""),
            name => names::subdomain(errors, &path.child("policyName"), name),
        }
        if has(spec, "paramRef") {
            rules::param_ref(errors, &path.child("paramRef"), at(spec, "paramRef"));
        }
        let validating = text(binding, "kind") == "ValidatingAdmissionPolicyBinding";
        if has(spec, "matchResources") {
            let (path, resources) = (path.child("matchResources"), at(spec, "matchResources"));
            rules::resources(errors, &path, resources);
            if !validating {
                rules::changing(errors, &path, resources);
            }
        }
        if validating {
            rules::actions(errors, &path.child("validationActions"), spec);
        }
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }
}

fn match_resources(resources: &mut Value) {
    matching(resources);
    for rules in ["resourceRules", "excludeResourceRules"] {
        each(resources, rules).for_each(|rule| fill(rule, "scope", "*"));
    }
}

fn matching(of: &mut Value) {
    fill(of, "matchPolicy", "Equivalent");
    fill(of, "namespaceSelector", Map::new());
    fill(of, "objectSelector", Map::new());
}
