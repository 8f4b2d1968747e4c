//! How a policy's no reads: in Kubernetes' words, with its reason and code. Decides nothing.

use kedge_kinds::status::Cause;
use kedge_kinds::{Meta, Reason, Status};
use kedge_registry::gate::Review;
use serde_json::Value;

use super::invocation::Invocation;
use super::policy::Policy;

#[derive(Debug)]
pub(super) struct Refusal {
    policy: String,
    binding: Option<String>,
    message: String,
    /// Empty where the policy's owner gave none.
    reason: String,
}

impl Refusal {
    pub(super) fn by(invocation: &Invocation<'_>, message: &str, reason: &str) -> Self {
        Self {
            policy: invocation.policy.name.clone(),
            binding: Some(invocation.binding.name.clone()),
            message: message.to_owned(),
            reason: reason.to_owned(),
        }
    }

    /// Of a policy, or of a binding to it, that cannot be followed.
    pub(super) fn misconfigured(policy: &Policy, binding: Option<&str>, why: &str) -> Self {
        let what = if binding.is_some() { "binding" } else { "policy" };
        Self {
            policy: policy.name.clone(),
            binding: binding.map(str::to_owned),
            message: format!("failed to configure {what}: {why}"),
            reason: String::new(),
        }
    }
}

/// The first refusal speaks, in the order of policies and their bindings.
pub(super) fn refused_write(review: &Review<'_>, refusals: &[Refusal]) -> Option<Status> {
    let first = refusals.iter().min_by_key(|refusal| (&refusal.policy, &refusal.binding));
    let Refusal { policy, binding, message, reason } = first?;
    let by = binding.as_ref().map(|binding| format!(" with binding '{binding}'")).unwrap_or_default();
    let message = format!("ValidatingAdmissionPolicy '{policy}'{by} denied request: {message}");
    let name = called(review, review.object);
    let mut status = Status::forbidden(&review.at.kind, &name, &message);
    (status.reason, status.code) = match &**reason {
        "Forbidden" => (Reason::Forbidden, 403),
        "Unauthorized" => (Reason::Unauthorized, 401),
        "RequestEntityTooLarge" => (Reason::RequestEntityTooLarge, 413),
        _ => (Reason::Invalid, 422),
    };
    cause(&mut status, message);
    Some(status)
}

/// The first refusal speaks, and the others are among the causes.
pub(super) fn refused_change(review: &Review<'_>, object: &Value, refusals: &[Refusal]) -> Option<Status> {
    let said = |refusal: &Refusal| {
        let Refusal { policy, binding, message, .. } = refusal;
        match binding {
            Some(binding) => format!("policy '{policy}' with binding '{binding}' denied request: {message}"),
            None => format!("policy {policy:?} denied request: {message}"),
        }
    };
    let first = refusals.first()?;
    let mut status = Status::forbidden(&review.at.kind, &called(review, Some(object)), "");
    status.message = said(first);
    if !first.reason.is_empty() {
        status.reason = Reason::Invalid;
    }
    refusals.iter().for_each(|refusal| cause(&mut status, said(refusal)));
    Some(status)
}

fn cause(status: &mut Status, message: String) {
    if let Some(details) = &mut status.details {
        details.causes.push(Cause { reason: String::new(), message, field: String::new() });
    }
}

fn called(review: &Review<'_>, object: Option<&Value>) -> String {
    let meta = object.map(Meta::of);
    let given = meta.map(|meta| meta.name()).unwrap_or_default();
    let base = object.map(|object| Meta::of(object).generate_name()).unwrap_or_default();
    let names = [review.name(), given, base, "Unknown"];
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_default().to_owned()
}
