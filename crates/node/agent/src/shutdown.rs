//! A machine that goes down takes its pods with it in good order: the node says so, ordinary pods end first, critical ones
//! last, and each has the time that there is. What does not end in time ends with the machine.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;

use crate::memory::Verdict;
use crate::registry::Registry;
use crate::tools::Tools;

/// Under this the board says that the node goes down.
pub(crate) const TROUBLE: &str = "shutdown";
/// From this priority on a pod is one that others need.
const CRITICAL: i32 = 2_000_000_000;
/// Between two looks at what still runs.
const LOOK: Duration = Duration::from_millis(100);

/// How much time there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    pub whole: Duration,
    /// Of it, for critical pods alone.
    pub critical: Duration,
}

/// Ends the pods of a node, from outside.
#[derive(Clone)]
pub struct Shutdown {
    pub(crate) tools: Arc<Tools>,
    pub(crate) registry: Arc<Registry>,
}

impl Shutdown {
    /// Returns when nothing runs any more, or the time is over.
    pub async fn run(&self, grace: Grace) {
        tracing::info!("the machine goes down: ending its pods");
        self.tools
            .board
            .write(|notes| drop(notes.troubles.insert(TROUBLE, "node is shutting down".to_owned())));
        let ordinary = grace.whole.saturating_sub(grace.critical);
        self.end(false, ordinary).await;
        self.end(true, grace.critical).await;
    }

    /// Ends all pods of a node that leaves its cluster, those that others need last. Each has its own grace, up to this.
    pub(crate) async fn leave(&self, longest: Duration) {
        self.end(false, longest).await;
        self.end(true, longest).await;
    }

    async fn end(&self, critical: bool, time: Duration) {
        let mine = || {
            let all = self.tools.roster.all().into_iter();
            all.filter(|seen| is_critical(&seen.pod) == critical).collect::<Vec<_>>()
        };
        for seen in mine() {
            let uid = seen.pod.metadata.uid.clone().unwrap_or_default();
            self.registry.condemn(&uid, verdict(&seen.pod, time));
        }
        let ended = async {
            while mine().iter().any(|seen| seen.view.running().next().is_some()) {
                self.tools.clock.sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = ended => {}
            () = self.tools.clock.sleep(time) => tracing::warn!(critical, "some pods did not end in time"),
        }
    }
}

/// The pod's own grace, unless there is less time.
fn verdict(pod: &Pod, time: Duration) -> Verdict {
    let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(30);
    let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    let mut verdict = Verdict::new("Terminated", "Pod was terminated in response to imminent node shutdown.");
    verdict.grace = Some(SignedDuration::from_secs(own.max(0)).min(time));
    verdict
}

fn is_critical(pod: &Pod) -> bool {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or(0);
    priority >= CRITICAL || crate::statics::is_static(pod)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(spec: serde_json::Value, annotations: serde_json::Value) -> Pod {
        let meta = json!({"name": "p", "annotations": annotations});
        let mut spec = spec;
        spec["containers"] = json!([]);
        serde_json::from_value(json!({"metadata": meta, "spec": spec})).unwrap()
    }

    #[test]
    fn critical_pods_are_known_and_nobody_gets_more_time_than_there_is() {
        for (case, pod, critical, grace) in [
            ("an ordinary one", pod(json!({"priority": 5}), json!({})), false, 20),
            ("a quick one", pod(json!({"terminationGracePeriodSeconds": 3}), json!({})), false, 3),
            ("a critical one", pod(json!({"priority": CRITICAL}), json!({})), true, 20),
            ("one of a file", pod(json!({}), json!({"kubernetes.io/config.source": "file"})), true, 20),
        ] {
            assert_eq!(is_critical(&pod), critical, "{case}");
            let verdict = verdict(&pod, Duration::from_secs(20));
            assert_eq!(verdict.grace, Some(SignedDuration::from_secs(grace)), "{case}");
        }
    }
}
