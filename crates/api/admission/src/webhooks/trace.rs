//! What the audit log hears of webhooks: who was asked, who changed what, whose silence was taken for a yes.

use kedge_registry::gate::Review;
use serde_json::{Value, json};

use super::hook::Hook;

/// One call, named as Kubernetes names it.
pub(crate) struct Trace<'a> {
    pub(crate) hook: &'a Hook,
    pub(crate) review: &'a Review<'a>,
    pub(crate) round: u8,
    pub(crate) index: usize,
}

impl Trace<'_> {
    pub(crate) fn mutated(&self, mutated: bool) {
        let said = json!({
            "configuration": &*self.hook.configuration, "webhook": self.hook.name, "mutated": mutated,
        });
        self.annotate("mutation.webhook.admission.k8s.io", said.to_string());
    }

    pub(crate) fn patched(&self, patch: &Value) {
        let said = json!({
            "configuration": &*self.hook.configuration, "webhook": self.hook.name,
            "patch": patch, "patchType": "JSONPatch",
        });
        self.annotate("patch.webhook.admission.k8s.io", said.to_string());
    }

    /// `way`: `mutation` or `validating`.
    pub(crate) fn failed_open(&self, way: &str, why: &str) {
        tracing::warn!("webhook {:?} could not be asked and is ignored: {why}", self.hook.name);
        let place = format!("failed-open.{way}.webhook.admission.k8s.io");
        self.annotate(&place, self.hook.name.clone());
    }

    fn annotate(&self, place: &str, said: String) {
        let key = format!("{place}/round_{}_index_{}", self.round, self.index);
        self.review.options.remarks.annotate(key, said);
    }
}
