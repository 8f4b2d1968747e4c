//! Webhook configurations and admission policies. Their CEL expressions are stored as text here.

use serde_json::{Map, Value};

use super::fields::{each, fill, open};
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
