//! How scripted nodes behave unless a pod says otherwise in its annotations.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;

/// Seconds from binding to running.
pub(crate) const START_AFTER: &str = "testkit.kedge.dev/start-after";
/// Seconds from running to the end of every container.
pub(crate) const RUN_FOR: &str = "testkit.kedge.dev/run-for";
/// How its containers end: at once, unless `run-for` says when.
pub(crate) const EXIT_CODE: &str = "testkit.kedge.dev/exit-code";
/// `false` if it never gets ready.
pub(crate) const READY: &str = "testkit.kedge.dev/ready";

#[derive(Clone, Debug)]
pub struct Script {
    /// From a pod's binding to its running.
    pub start_after: Duration,
    pub heartbeat: Duration,
    /// How many requests are under way at once.
    pub at_once: usize,
}

impl Default for Script {
    fn default() -> Self {
        Self { start_after: Duration::ZERO, heartbeat: Duration::from_secs(10), at_once: 64 }
    }
}

impl Script {
    pub(crate) fn start_after(&self, pod: &Pod) -> SignedDuration {
        let usual = SignedDuration::try_from(self.start_after).unwrap_or_default();
        annotation(pod, START_AFTER)
            .and_then(|seconds| seconds.parse().ok())
            .map_or(usual, SignedDuration::from_secs)
    }
}

pub(crate) fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(name).map(String::as_str)
}

pub(crate) fn number<N: std::str::FromStr>(pod: &Pod, name: &str) -> Option<N> {
    annotation(pod, name)?.parse().ok()
}
