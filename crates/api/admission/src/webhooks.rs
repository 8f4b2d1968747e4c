//! Webhooks: asks servers outside about each write that they want to hear of. Mutating ones one after the other, validating
//! ones at the same time. Knows no kind.

mod answer;
mod call;
mod conditions;
mod expressions;
mod hook;
mod index;
pub(crate) mod matching;
mod rounds;
pub(crate) mod rule;
pub(crate) mod shown;
mod trace;

use std::fmt;
use std::sync::Arc;

use call::{Failure, failed_closed, internal};
use futures::future::{BoxFuture, join_all};
use hook::Hook;
use index::{Hooks, Index};
use kedge_kinds::{Kind, Status};
use kedge_reach::Reach;
use kedge_registry::gate::{Gate, Review};
use kedge_registry::merge::json_patch;
use kedge_store::Store;
use matching::{Versions, chosen, is_exempt, others};
use rounds::Rounds;
use serde_json::Value;
use shown::Shown;
use trace::Trace;

/// All configured webhooks, as one gate.
pub struct Webhooks {
    index: Index,
    versions: Versions,
    reach: Reach,
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Webhooks")
    }
}

impl Webhooks {
    pub fn new(store: Store, reach: Reach) -> Self {
        Self { index: Index::new(store), versions: Versions::default(), reach }
    }

    fn is_wanted(&self, hooks: &[Arc<Hook>], review: &Review<'_>) -> bool {
        if hooks.is_empty() {
            return false;
        }
        let versions = self.versions.of(review);
        hooks.iter().any(|hook| {
            let others = others(&versions, review);
            hook.wants(review.operation, &review.at.kind, review.subresource(), others).is_some()
        })
    }

    /// One after the other, each on what the one before it left.
    async fn change(&self, review: &Review<'_>, mut object: Option<&mut Value>) -> Result<bool, Status> {
        let hooks: Arc<Hooks> = self.index.hooks();
        let versions = self.versions.of(review);
        let mut rounds = Rounds::begin(review, object.as_deref().unwrap_or(&Value::Null));
        let mut any = false;
        for (index, hook) in hooks.mutating.iter().enumerate() {
            let review = Review { object: object.as_deref().or(review.object), ..*review };
            let Some(kind) = chosen(hook, &review, &versions)? else { continue };
            if !rounds.is_due(review.again, index) {
                continue;
            }
            let trace = Trace { hook, review: &review, round: u8::from(review.again), index };
            let outcome = self.mutated(hook, &review, kind, &trace, object.is_some()).await;
            let changed = match outcome {
                Ok(changed) => changed,
                Err(Failure::Refused(status)) => return Err(status),
                Err(Failure::Unheard(why)) if hook.ignore => {
                    trace.failed_open("mutation", &why);
                    None
                }
                Err(Failure::Unheard(why)) => return Err(failed_closed(hook, &why)),
            };
            trace.mutated(changed.is_some());
            if let (Some(changed), Some(object)) = (changed, object.as_deref_mut()) {
                *object = changed;
                any = true;
                rounds.changed();
            }
            if hook.again {
                rounds.asked(index);
            }
        }
        rounds.end(review, object.as_deref().unwrap_or(&Value::Null));
        Ok(any)
    }

    /// The object as a webhook wants it, in the version of the request; `None` if it is content.
    async fn mutated(
        &self,
        hook: &Hook,
        review: &Review<'_>,
        kind: &Kind,
        trace: &Trace<'_>,
        changeable: bool,
    ) -> Result<Option<Value>, Failure> {
        let shown = Shown::new(review, kind).await.map_err(Failure::Refused)?;
        let asked = shown.review(review);
        let verdict = call::ask(&self.reach, hook, &asked, shown.seen, true).await?;
        if verdict.patch.is_empty() {
            return Ok(None);
        }
        let patch: Value = serde_json::from_slice(&verdict.patch).map_err(|error| {
            Failure::Unheard(format!("received undecodable patch in webhook response: {error}"))
        })?;
        if !patch.is_array() {
            return Err(Failure::Unheard(format!(
                "received undecodable patch in webhook response: json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
                answer::called(&patch)
            )));
        }
        if patch.as_array().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let Some(object) = asked.object.filter(|_| changeable) else {
            return Err(Failure::Refused(internal(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                hook.name
            ))));
        };
        let patched =
            json_patch(object, &patch).map_err(|status| Failure::Refused(internal(status.message)))?;
        trace.patched(&patch);
        if patched == *object {
            return Ok(None);
        }
        match shown.seen {
            None => Ok(Some(patched)),
            Some(_) => {
                let back = review.registry.in_version(kind, &review.at.kind, patched).await;
                back.map(Some).map_err(Failure::Refused)
            }
        }
    }

    /// All at the same time; of several refusals the first one counts.
    async fn judge(&self, review: &Review<'_>) -> Result<(), Status> {
        let hooks = self.index.hooks();
        let versions = self.versions.of(review);
        let mut calls = Vec::new();
        for hook in &hooks.validating {
            if let Some(kind) = chosen(hook, review, &versions)? {
                let index = calls.len();
                calls.push(async move {
                    let shown = Shown::new(review, kind).await?;
                    let asked = shown.review(review);
                    match call::ask(&self.reach, hook, &asked, shown.seen, false).await {
                        Ok(_) => Ok(()),
                        Err(Failure::Refused(status)) => Err(status),
                        Err(Failure::Unheard(why)) if hook.ignore => {
                            Trace { hook, review, round: 0, index }.failed_open("validating", &why);
                            Ok(())
                        }
                        Err(Failure::Unheard(why)) => Err(failed_closed(hook, &why)),
                    }
                });
            }
        }
        join_all(calls).await.into_iter().collect()
    }
}

impl Gate for Webhooks {
    fn concerns(&self, review: &Review<'_>) -> bool {
        let hooks = self.index.hooks();
        let any = !hooks.mutating.is_empty() || !hooks.validating.is_empty();
        any && !is_exempt(&review.at.kind)
            && (self.is_wanted(&hooks.mutating, review) || self.is_wanted(&hooks.validating, review))
    }

    fn mutate<'a>(
        &'a self,
        review: &'a Review<'a>,
        object: &'a mut Value,
    ) -> BoxFuture<'a, Result<bool, Status>> {
        Box::pin(self.change(review, Some(object)))
    }

    fn consult<'a>(&'a self, review: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move { self.change(review, None).await.map(|_| ()) })
    }

    fn validate<'a>(&'a self, review: &'a Review<'a>) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(self.judge(review))
    }
}

#[cfg(test)]
mod tests;
