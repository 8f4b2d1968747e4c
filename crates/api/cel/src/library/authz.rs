//! `authorizer`: builds up a check and asks it. The answer is the host's.

use std::sync::Arc;

use super::{Fun, first, second};
use crate::error::EvalError;
use crate::value::authorizer::{Check, CheckTarget, Decision, Resource};
use crate::value::opaque::Asker;
use crate::value::{Opaque, Value};

pub(crate) const SIGNATURES: &str = "
path authorizer_path authorizer.(string) pathcheck
group authorizer_group authorizer.(string) groupcheck
serviceAccount authorizer_serviceaccount authorizer.(string,string) authorizer
resource groupcheck_resource groupcheck.(string) resourcecheck
subresource resourcecheck_subresource resourcecheck.(string) resourcecheck
namespace resourcecheck_namespace resourcecheck.(string) resourcecheck
name resourcecheck_name resourcecheck.(string) resourcecheck
fieldSelector authorizer_fieldselector resourcecheck.(string) resourcecheck
labelSelector authorizer_labelselector resourcecheck.(string) resourcecheck
check pathcheck_check pathcheck.(string) decision
check resourcecheck_check resourcecheck.(string) decision
errored decision_errored decision.() bool
error decision_error decision.() string
allowed decision_allowed decision.() bool
reason decision_reason decision.() string
";

pub(crate) const FUNCTIONS: &[(&str, Fun)] = &[
    ("path", |args| match (opaque(first(args)?)?, text(second(args)?)?) {
        (Opaque::Authorizer(_), path) if path.is_empty() => {
            Err(EvalError::function("path must not be empty"))
        }
        (Opaque::Authorizer(asker), path) => Ok(Value::opaque(Opaque::PathCheck(asker.clone(), path))),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("group", |args| match (opaque(first(args)?)?, text(second(args)?)?) {
        (Opaque::Authorizer(asker), group) => Ok(Value::opaque(Opaque::GroupCheck(asker.clone(), group))),
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("serviceAccount", |args| match (opaque(first(args)?)?, args) {
        (Opaque::Authorizer(asker), [_, namespace, name]) => {
            let (namespace, name) = (text(namespace)?, text(name)?);
            let bad = kedge_kinds::names::dns1123_subdomain(&name);
            if !bad.is_empty() {
                return Err(EvalError::function(format!(
                    "Invalid service account name: [{}]",
                    bad.join(" ")
                )));
            }
            let bad = kedge_kinds::names::dns1123_label(&namespace);
            if !bad.is_empty() {
                return Err(EvalError::function(format!(
                    "Invalid service account namespace: [{}]",
                    bad.join(" ")
                )));
            }
            let asker = Asker { service_account: Some((namespace, name)), ..asker.clone() };
            Ok(Value::opaque(Opaque::Authorizer(asker)))
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("resource", |args| match (opaque(first(args)?)?, text(second(args)?)?) {
        (Opaque::GroupCheck(asker, group), resource) => {
            let resource = Resource { group: group.clone(), resource, ..Resource::default() };
            Ok(Value::opaque(Opaque::ResourceCheck(asker.clone(), resource)))
        }
        _ => Err(EvalError::NoSuchOverload),
    }),
    ("subresource", |args| narrowed(args, |resource, text| resource.subresource = text)),
    ("namespace", |args| narrowed(args, |resource, text| resource.namespace = text)),
    ("name", |args| narrowed(args, |resource, text| resource.name = text)),
    ("fieldSelector", |args| narrowed(args, |resource, text| resource.field_selector = Some(text))),
    ("labelSelector", |args| narrowed(args, |resource, text| resource.label_selector = Some(text))),
    ("check", |args| {
        let verb = text(second(args)?)?;
        let (asker, target) = match opaque(first(args)?)? {
            Opaque::PathCheck(asker, path) => (asker, CheckTarget::Path(path.clone())),
            Opaque::ResourceCheck(asker, resource) => (asker, CheckTarget::Resource(resource.clone())),
            _ => return Err(EvalError::NoSuchOverload),
        };
        let check = Check { service_account: asker.service_account.clone(), verb, target };
        Ok(Value::opaque(Opaque::Decision(asker.authorizer.check(&check))))
    }),
    ("errored", |args| Ok(Value::Bool(decision(args)?.error.is_some()))),
    ("error", |args| Ok(Value::shared(decision(args)?.error.as_deref().unwrap_or_default()))),
    ("allowed", |args| Ok(Value::Bool(decision(args)?.allowed))),
    ("reason", |args| Ok(Value::shared(&*decision(args)?.reason))),
];

fn opaque<'v>(value: &'v Value<'_>) -> Result<&'v Opaque, EvalError> {
    match value {
        Value::Opaque(opaque) => Ok(opaque),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn text(value: &Value<'_>) -> Result<Arc<str>, EvalError> {
    match value {
        Value::String(text) => Ok(Arc::from(&**text)),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn decision<'v>(args: &'v [Value<'_>]) -> Result<&'v Decision, EvalError> {
    match opaque(first(args)?)? {
        Opaque::Decision(decision) => Ok(decision),
        _ => Err(EvalError::NoSuchOverload),
    }
}

fn narrowed<'a>(args: &[Value<'a>], set: fn(&mut Resource, Arc<str>)) -> Result<Value<'a>, EvalError> {
    match opaque(first(args)?)? {
        Opaque::ResourceCheck(asker, resource) => {
            let mut resource = resource.clone();
            set(&mut resource, text(second(args)?)?);
            Ok(Value::opaque(Opaque::ResourceCheck(asker.clone(), resource)))
        }
        _ => Err(EvalError::NoSuchOverload),
    }
}
