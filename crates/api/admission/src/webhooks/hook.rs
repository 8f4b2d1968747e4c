//! One webhook of a configuration, read once so that a request has little left to do. Calls nobody.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kedge_kinds::Kind;
use kedge_kinds::selector::LabelSelector;
use kedge_reach::{Place, Target};
use kedge_registry::gate::Operation;
use serde_json::Value;

use super::conditions::Conditions;
use super::rule::Rule;

/// Kubernetes' own limit where a webhook names none.
const TIMEOUT_SECONDS: u64 = 10;

#[derive(Debug)]
pub(crate) struct Hook {
    /// The name of the configuration that it stands in.
    pub(crate) configuration: Arc<str>,
    pub(crate) name: String,
    pub(crate) target: Target,
    rules: Vec<Rule>,
    /// Hears of a resource also if the request uses another version of it.
    pub(crate) equivalent: bool,
    pub(crate) namespaces: Result<LabelSelector, String>,
    pub(crate) objects: Result<LabelSelector, String>,
    pub(crate) conditions: Conditions,
    /// A failure to ask is taken for a yes.
    pub(crate) ignore: bool,
    pub(crate) timeout: Duration,
    /// May be asked about what will not be stored.
    pub(crate) dry_run: bool,
    /// Asked again if others changed the object after it.
    pub(crate) again: bool,
    /// The newest form of a review that it understands.
    pub(crate) form: Option<Form>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    V1,
    V1beta1,
}

impl Form {
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Form::V1 => "admission.k8s.io/v1",
            Form::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }
}

impl Hook {
    /// Whatever a configuration can hold can be read: validation has seen it.
    pub(crate) fn read(configuration: &Arc<str>, hook: &Value) -> Self {
        let text = |field: &str| hook.get(field).and_then(Value::as_str).unwrap_or_default();
        let list = |field: &str| hook.get(field).and_then(Value::as_array).into_iter().flatten();
        let selector = |field: &str| match hook.get(field) {
            // No selector selects everything here, other than in most places.
            None => Ok(LabelSelector::everything()),
            selector => LabelSelector::of_object(selector).map_err(|error| error.to_string()),
        };
        let ignore = text("failurePolicy") == "Ignore";
        Self {
            configuration: configuration.clone(),
            name: text("name").to_owned(),
            target: target(hook.get("clientConfig").unwrap_or(&Value::Null)),
            rules: list("rules").map(Rule::read).collect(),
            equivalent: text("matchPolicy") != "Exact",
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            conditions: Conditions::read(list("matchConditions"), ignore),
            ignore,
            timeout: Duration::from_secs(
                hook.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(TIMEOUT_SECONDS),
            ),
            dry_run: matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
            again: text("reinvocationPolicy") == "IfNeeded",
            form: list("admissionReviewVersions").find_map(|version| match version.as_str() {
                Some("v1") => Some(Form::V1),
                Some("v1beta1") => Some(Form::V1beta1),
                _ => None,
            }),
        }
    }

    /// Whether it wants to hear of this; the version of the kind that it wants it in. Earlier rules come first.
    pub(crate) fn wants<'k>(
        &self,
        operation: Operation,
        kind: &'k Kind,
        subresource: &str,
        others: impl Iterator<Item = &'k Arc<Kind>> + Clone,
    ) -> Option<&'k Kind> {
        if self.rules.iter().any(|rule| rule.matches(operation, kind, subresource)) {
            return Some(kind);
        }
        let mut rules = self.rules.iter().filter(|_| self.equivalent);
        rules.find_map(|rule| {
            others.clone().map(|other| &**other).find(|other| rule.matches(operation, other, subresource))
        })
    }
}

/// Where a `clientConfig` points.
fn target(config: &Value) -> Target {
    let bundle = config.get("caBundle").and_then(Value::as_str).filter(|bundle| !bundle.is_empty());
    let ca_bundle = bundle.and_then(|bundle| STANDARD.decode(bundle).ok()).map(Bytes::from);
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or("").to_owned();
    let place = match config.get("service") {
        Some(service) => Place::Service {
            namespace: text(service, "namespace"),
            name: text(service, "name"),
            port: service
                .get("port")
                .and_then(Value::as_u64)
                .and_then(|p| u16::try_from(p).ok())
                .unwrap_or(443),
            path: text(service, "path"),
        },
        None => Place::Url(text(config, "url")),
    };
    Target { place, ca_bundle, identity: None, insecure_skip_verify: false }
}
