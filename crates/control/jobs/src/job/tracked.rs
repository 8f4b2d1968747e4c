//! A job's pod: whether it has been counted, which index it works on, how it ended. Knows no policy.

use k8s_openapi::api::core::v1::Pod;
use kedge_children::pods::PodFacts;
use kedge_engine::Action;

/// Keeps a pod from going before it is counted.
pub(crate) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";
pub(super) const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
pub(super) const INDEX_IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

pub(crate) trait Tracked {
    fn is_tracked(&self) -> bool;
    fn id(&self) -> &str;
    fn index(&self) -> Option<usize>;
    /// Failures of its index before it, those that count and those that don't.
    fn earlier_failures(&self) -> (usize, usize);
    fn has_succeeded(&self) -> bool;
    fn has_failed(&self) -> bool;
    /// Nobody needs to count it any more. Nothing to do if nobody does.
    fn let_go(&self) -> Option<Action>;
}

impl Tracked for Pod {
    fn is_tracked(&self) -> bool {
        self.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
    }

    fn id(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    fn index(&self) -> Option<usize> {
        number(self, INDEX)
    }

    fn earlier_failures(&self) -> (usize, usize) {
        (number(self, INDEX_FAILURES).unwrap_or(0), number(self, INDEX_IGNORED).unwrap_or(0))
    }

    fn has_succeeded(&self) -> bool {
        self.phase() == "Succeeded"
    }

    fn has_failed(&self) -> bool {
        self.phase() == "Failed"
    }

    fn let_go(&self) -> Option<Action> {
        let mut free = self.clone();
        free.metadata.finalizers.iter_mut().for_each(|all| all.retain(|finalizer| finalizer != FINALIZER));
        Action::change(self, &free)
    }
}

/// A count in an annotation; anything else there is as good as nothing.
fn number(pod: &Pod, annotation: &str) -> Option<usize> {
    let text = pod.metadata.annotations.as_ref()?.get(annotation)?;
    text.parse::<i32>().ok().and_then(|number| usize::try_from(number).ok())
}
