//! Access reviews: the same decision that requests meet, asked for without doing anything.

use std::collections::BTreeMap;

use kedge_kinds::{Cause, Details, Reason, Status};
use kedge_registry::{Decision, User};
use serde::Deserialize;
use serde_json::{Value, json};

use super::part;
use crate::access::Access;
use crate::api::Api;
use crate::call::Call;
use crate::rbac::{Ask, Rule, What};

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    resource_attributes: Option<ResourceAttributes>,
    non_resource_attributes: Option<PathAttributes>,
    user: String,
    uid: String,
    groups: Option<Vec<String>>,
    extra: Option<BTreeMap<String, Vec<String>>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ResourceAttributes {
    namespace: String,
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    name: String,
    field_selector: Option<Selector>,
    label_selector: Option<Selector>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Selector {
    raw_selector: String,
    requirements: Option<Vec<Requirement>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Requirement {
    key: String,
    operator: String,
    values: Vec<String>,
}

impl ResourceAttributes {
    /// The field selector as a request would carry it: what it requires to be one value.
    fn fields(&self) -> String {
        let Some(selector) = &self.field_selector else { return String::new() };
        let listed = selector.requirements.iter().flatten();
        let one = listed.filter(|one| one.operator == "In" && one.values.len() == 1);
        let parts: Vec<String> = one.map(|one| format!("{}={}", one.key, one.values.concat())).collect();
        if parts.is_empty() { selector.raw_selector.clone() } else { parts.join(",") }
    }

    fn check(&self, causes: &mut Vec<Cause>) {
        let both = [("fieldSelector", &self.field_selector), ("labelSelector", &self.label_selector)];
        for (field, selector) in both.into_iter().filter_map(|(field, one)| Some((field, one.as_ref()?))) {
            selector.check(&format!("spec.resourceAttributes.{field}"), causes);
        }
    }
}

impl Selector {
    fn check(&self, path: &str, causes: &mut Vec<Cause>) {
        let listed = self.requirements.as_deref().unwrap_or_default();
        let mut say = |reason: &str, field: String, message: String| {
            causes.push(Cause { reason: reason.to_owned(), message, field });
        };
        let (required, forbidden) = ("FieldValueRequired", "FieldValueForbidden");
        match (self.raw_selector.is_empty(), listed.is_empty()) {
            (true, true) => {
                let why = format!(
                    "Required value: when {path} is specified, requirements or rawSelector is required"
                );
                say(required, format!("{path}.requirements"), why);
            }
            (false, false) => {
                let shown = format!("{:?}", self.raw_selector);
                let why =
                    format!("Invalid value: {shown}: may not specified at the same time as requirements");
                say("FieldValueInvalid", format!("{path}.rawSelector"), why);
            }
            _ => {}
        }
        for (i, one) in listed.iter().enumerate() {
            let path = format!("{path}.requirements[{i}]");
            if one.key.is_empty() {
                say(required, format!("{path}.key"), "Required value: must be specified".to_owned());
            }
            match (one.operator.as_str(), one.values.is_empty()) {
                ("In" | "NotIn", true) => {
                    let why = "Required value: must be specified when `operator` is 'In' or 'NotIn'";
                    say(required, format!("{path}.values"), why.to_owned());
                }
                ("Exists" | "DoesNotExist", false) => {
                    let why = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                    say(forbidden, format!("{path}.values"), why.to_owned());
                }
                _ => {}
            }
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PathAttributes {
    path: String,
    verb: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RulesSpec {
    namespace: String,
}

/// `SelfSubjectAccessReview`: may I?
pub(super) fn own(api: &Api, call: &Call, object: &Value) -> Result<Value, Status> {
    let spec: Spec = part(object, "spec")?;
    decide(api, &call.user, &spec)
}

/// `SubjectAccessReview` and `LocalSubjectAccessReview`: may they?
pub(super) fn others(api: &Api, call: &Call, object: &Value) -> Result<Value, Status> {
    let mut spec: Spec = part(object, "spec")?;
    if let (Some(namespace), Some(attributes)) = (&call.at.namespace, &mut spec.resource_attributes) {
        if !attributes.namespace.is_empty() && *attributes.namespace != **namespace {
            let why = "must match metadata.namespace";
            let value = format!("{:?}", attributes.namespace);
            return Err(invalid(vec![cause("spec.resourceAttributes.namespace", &value, why)]));
        }
        attributes.namespace = namespace.to_string();
    }
    if spec.user.is_empty() && spec.groups.as_ref().is_none_or(Vec::is_empty) {
        let mut causes = Vec::new();
        if spec.resource_attributes.is_some() == spec.non_resource_attributes.is_some() {
            causes.push(cause("spec.resourceAttributes", "null", NEITHER));
        }
        causes.push(cause("spec.user", "\"\"", "at least one of user or group must be specified"));
        return Err(invalid(causes));
    }
    let user = User {
        name: std::mem::take(&mut spec.user),
        uid: std::mem::take(&mut spec.uid),
        groups: spec.groups.take().unwrap_or_default(),
        extra: spec.extra.take().unwrap_or_default(),
    };
    decide(api, &user, &spec)
}

fn decide(api: &Api, user: &User, spec: &Spec) -> Result<Value, Status> {
    if let Some(attributes) = &spec.resource_attributes {
        let mut causes = Vec::new();
        attributes.check(&mut causes);
        if !causes.is_empty() {
            return Err(invalid(causes));
        }
    }
    let ask = match (&spec.resource_attributes, &spec.non_resource_attributes) {
        (Some(asked), None) => Ask {
            verb: &asked.verb,
            what: What::Resource {
                group: &asked.group,
                resource: &asked.resource,
                subresource: &asked.subresource,
                namespace: &asked.namespace,
                name: &asked.name,
            },
        },
        (None, Some(asked)) => Ask { verb: &asked.verb, what: What::Path(&asked.path) },
        (Some(_), Some(_)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            return Err(invalid(vec![cause("spec.nonResourceAttributes", "\"\"", why)]));
        }
        (None, None) => {
            return Err(invalid(vec![cause("spec.resourceAttributes", "null", NEITHER)]));
        }
    };
    let fields = spec.resource_attributes.as_ref().map(ResourceAttributes::fields).unwrap_or_default();
    let Decision { allowed, reason } = api.access().explain(user, &ask, &fields);
    Ok(match reason.is_empty() {
        true => json!({ "allowed": allowed }),
        false => json!({ "allowed": allowed, "reason": reason }),
    })
}

/// `SelfSubjectRulesReview`: what may I, all in all?
pub(super) fn rules(api: &Api, call: &Call, object: &Value) -> Result<Value, Status> {
    let spec: RulesSpec = part(object, "spec")?;
    if spec.namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let rules = api.rbac().rules(&call.user, &spec.namespace);
    let (paths, resources): (Vec<Rule>, Vec<Rule>) =
        rules.into_iter().partition(|rule| !rule.urls.is_empty());
    let mut status = json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false });
    let unlisted = Access::unlisted(&call.user);
    if !unlisted.is_empty() {
        status["incomplete"] = true.into();
        status["evaluationError"] = unlisted.into();
    }
    Ok(status)
}

const NEITHER: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

fn cause(field: &str, value: &str, why: &str) -> Cause {
    let message = format!("Invalid value: {value}: {why}");
    Cause { reason: "FieldValueInvalid".to_owned(), message, field: field.to_owned() }
}

/// Kubernetes names no kind here; so do we.
fn invalid(causes: Vec<Cause>) -> Status {
    let listed: Vec<String> =
        causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    let list = if listed.len() == 1 { listed.concat() } else { format!("[{}]", listed.join(", ")) };
    let message = format!(".authorization.k8s.io \"\" is invalid: {list}");
    let details = Details { group: "authorization.k8s.io".to_owned(), causes, ..Details::default() };
    Status::new(422, Reason::Invalid, message).with(details)
}
