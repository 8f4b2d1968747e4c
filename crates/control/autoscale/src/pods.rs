//! The pods of a target: which of them count, and what they asked for. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};
use kedge_children::pods::PodFacts as _;
use kube::ResourceExt;

use crate::amount::Amount;
use crate::measured::{Sample, Samples};
use crate::settings::Settings;

/// Names of pods, by what is known of them.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Groups {
    pub(crate) ready: usize,
    /// Not there yet: what they use says nothing.
    pub(crate) unready: BTreeSet<String>,
    /// Nobody measured them.
    pub(crate) missing: BTreeSet<String>,
    /// Leaving or failed.
    pub(crate) ignored: BTreeSet<String>,
}

impl Groups {
    pub(crate) fn of(
        pods: &[Arc<Pod>],
        samples: &Samples,
        resource: &str,
        settings: &Settings,
        now: Timestamp,
    ) -> Self {
        let mut groups = Self::default();
        for pod in pods {
            let name = pod.name_any();
            if pod.is_leaving() || pod.phase() == "Failed" {
                groups.ignored.insert(name);
            } else if pod.phase() == "Pending" {
                groups.unready.insert(name);
            } else if let Some(sample) = samples.get(&name) {
                if resource == "cpu" && is_warming_up(pod, sample, settings, now) {
                    groups.unready.insert(name);
                } else {
                    groups.ready += 1;
                }
            } else {
                groups.missing.insert(name);
            }
        }
        groups
    }
}

/// A starting process uses more of the CPU than it will.
fn is_warming_up(pod: &Pod, sample: &Sample, settings: &Settings, now: Timestamp) -> bool {
    let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
    let (Some(ready), Some(started)) = (pod.condition("Ready"), started) else { return true };
    let changed = ready.last_transition_time.as_ref().map_or(Timestamp::MIN, |time| time.0);
    let after = |moment: Timestamp, time: Duration| {
        let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        moment.saturating_add(time).unwrap_or(Timestamp::MAX)
    };
    if after(started.0, settings.cpu_initialization) > now {
        let measured_since = changed.saturating_add(sample.window).unwrap_or(Timestamp::MAX);
        ready.status == "False" || sample.at < measured_since
    } else {
        ready.status == "False" && after(started.0, settings.initial_readiness) > changed
    }
}

/// Running and ready, whoever measures what.
pub(crate) fn ready(pods: &[Arc<Pod>]) -> usize {
    pods.iter().filter(|pod| pod.phase() == "Running" && pod.is_ready()).count()
}

/// What a pod, or one container of it, asked for, in thousandths.
pub(crate) fn request(pod: &Pod, container: Option<&str>, resource: &str) -> Result<i64, String> {
    let name = pod.name_any();
    let Some(spec) = &pod.spec else { return Err(format!("missing request for {resource} in Pod {name}")) };
    let whole = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    if let (None, Some(whole)) = (container, whole.filter(|whole| !whole.is_empty())) {
        let request = whole.get(resource).and_then(|quantity| Amount::parse(&quantity.0));
        let missing = || format!("missing pod-level request for {resource} in Pod {name}");
        return request.map(|request| request.0).ok_or_else(missing);
    }
    let is_sidecar = |container: &&Container| container.restart_policy.as_deref() == Some("Always");
    let sidecars = spec.init_containers.iter().flatten().filter(is_sidecar);
    let mut counted = spec
        .containers
        .iter()
        .chain(sidecars)
        .filter(|one| container.is_none_or(|container| one.name == container))
        .peekable();
    if let (Some(container), None) = (container, counted.peek()) {
        return Err(format!("container {container} not found in Pod {name}"));
    }
    let mut sum = 0_i64;
    for one in counted {
        let requests = one.resources.as_ref().and_then(|resources| resources.requests.as_ref());
        let request = requests.and_then(|requests| Amount::parse(&requests.get(resource)?.0));
        let missing = || format!("missing request for {resource} in container {} of Pod {name}", one.name);
        sum = sum.saturating_add(request.ok_or_else(missing)?.0);
    }
    Ok(sum)
}
