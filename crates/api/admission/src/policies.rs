//! Admission policies: holds each write to the expressions that the cluster's owners bound. Mutating policies change objects
//! one after the other; validating ones refuse, warn or note. Knows no kind.

mod criteria;
mod index;
mod invocation;
mod mutating;
mod params;
mod policy;
mod refusal;
pub(crate) mod scene;
mod status;
mod typecheck;
mod validating;

use std::collections::{BTreeMap, HashMap};

use futures::future::BoxFuture;
use index::{Hooks, Index};
use invocation::{Ground, Invocation};
use kedge_kinds::{Kind, Status};
use kedge_registry::gate::{Gate, Operation, Review};
use policy::{Policy, Work};
use refusal::{Refusal, refused_change, refused_write};
use serde_json::{Value, json};
pub use status::keep_checked;
use validating::judge;

use crate::webhooks::matching::Versions;

/// The longest value of a note in the audit log.
const LONGEST_NOTE: usize = 10 * 1024;

/// All policies that are bound, as one gate.
#[derive(Debug, Default)]
pub struct Policies {
    index: Index,
    versions: Versions,
}

/// What each policy that may run again left when it last ran.
#[derive(Default)]
struct Left(HashMap<String, Value>);

/// Policies have no say over what decides about policies, and none over questions that are answered and not stored.
fn is_exempt(kind: &Kind) -> bool {
    match &*kind.gv.group {
        "admissionregistration.k8s.io" => kind.kind.contains("AdmissionPolicy"),
        "authentication.k8s.io" => matches!(&*kind.kind, "TokenReview" | "SelfSubjectReview"),
        "authorization.k8s.io" => true,
        _ => false,
    }
}

impl Gate for Policies {
    fn concerns(&self, review: &Review<'_>) -> bool {
        if is_exempt(&review.at.kind) {
            return false;
        }
        let Some(hooks) = self.index.hooks(review.snapshot) else { return false };
        let ground = Ground::new(review, &self.versions);
        let may_match = |policy: &Policy| {
            policy
                .constraints
                .as_ref()
                .is_none_or(|constraints| constraints.may_match(review, ground.others()))
        };
        hooks.validating.iter().chain(&hooks.mutating).any(|bound| may_match(&bound.policy))
    }

    fn mutate<'a>(
        &'a self,
        review: &'a Review<'a>,
        object: &'a mut Value,
    ) -> BoxFuture<'a, Result<bool, Status>> {
        Box::pin(async move {
            let is_written = matches!(review.operation, Operation::Create | Operation::Update);
            match self.index.hooks(review.snapshot) {
                Some(hooks) if is_written && !hooks.mutating.is_empty() => {
                    self.change(&hooks, review, object).await
                }
                _ => Ok(false),
            }
        })
    }

    fn validate<'a>(&'a self, review: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move {
            match self.index.hooks(review.snapshot) {
                Some(hooks) if !hooks.validating.is_empty() => self.check(&hooks, review).await,
                _ => Ok(()),
            }
        })
    }
}

impl Policies {
    /// One after the other, each on what the one before it left.
    async fn change(&self, hooks: &Hooks, review: &Review<'_>, object: &mut Value) -> Result<bool, Status> {
        let mut refusals = Vec::new();
        let invocations = {
            let review = Review { object: Some(object), ..*review };
            let ground = Ground::new(&review, &self.versions);
            ground.invocations(&hooks.mutating, &mut refusals).await
        };
        let Left(mut left) = review.memory.recall().unwrap_or_default();
        let mut any = false;
        for invocation in &invocations {
            let Work::Mutate { mutations, again } = &invocation.policy.work else { continue };
            let key = invocation.key();
            let is_due = !review.again || (*again && left.get(&key).is_some_and(|left| left != object));
            if !is_due {
                continue;
            }
            let before = object.clone();
            invocation.change(review, mutations, object, &mut refusals).await?;
            any |= *object != before;
            if *again {
                left.insert(key, object.clone());
            }
        }
        review.memory.keep(Left(left));
        refused_change(review, object, &refusals).map_or(Ok(any), Err)
    }

    async fn check(&self, hooks: &Hooks, review: &Review<'_>) -> Result<(), Status> {
        let ground = Ground::new(review, &self.versions);
        let mut refusals = Vec::new();
        let invocations = ground.invocations(&hooks.validating, &mut refusals).await;
        // Those of one policy stand beside each other.
        let mut notes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for invocation in &invocations {
            let verdict = invocation.within(review, |inputs| judge(invocation.policy, inputs)).await?;
            for (i, denial) in verdict.denials {
                for action in &invocation.binding.actions {
                    match &**action {
                        "Deny" => refusals.push(Refusal::by(invocation, &denial.message, &denial.reason)),
                        "Warn" => review.options.remarks.warn(warning(invocation, &denial.message)),
                        _ => note_failure(review, invocation, i, &denial.message),
                    }
                }
            }
            for broken in verdict.broken {
                refusals.push(Refusal::by(invocation, &broken.message, ""));
            }
            for (key, mut value) in verdict.annotations {
                value.truncate(value.floor_char_boundary(LONGEST_NOTE));
                let values = notes.entry(format!("{}/{key}", invocation.policy.name)).or_default();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        for (key, values) in notes {
            review.options.remarks.annotate(key, values.join(", "));
        }
        refused_write(review, &refusals).map_or(Ok(()), Err)
    }
}

fn warning(invocation: &Invocation<'_>, message: &str) -> String {
    let (policy, binding) = (&invocation.policy.name, &invocation.binding.name);
    format!("Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {message}")
}

fn note_failure(review: &Review<'_>, invocation: &Invocation<'_>, rule: usize, message: &str) {
    let failure = json!([{
        "message": message,
        "policy": invocation.policy.name,
        "binding": invocation.binding.name,
        "expressionIndex": rule,
        "validationActions": invocation.binding.actions,
    }]);
    let key = "validation.policy.admission.k8s.io/validation_failure";
    review.options.remarks.annotate(key, failure.to_string());
}

#[cfg(test)]
mod tests;
