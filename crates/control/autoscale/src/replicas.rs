//! How many replicas a measurement asks for. Pure; knows neither limits nor the past.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::measured::Samples;
use crate::pods::{self, Groups};
use crate::settings::Settings;

const NO_PODS: &str = "no pods returned by selector while calculating replica count";

/// By which part a measurement may be off its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerance {
    pub(crate) up: f64,
    pub(crate) down: f64,
}

impl Tolerance {
    fn allows(self, ratio: f64) -> bool {
        1.0 - self.down <= ratio && ratio <= 1.0 + self.up
    }
}

/// What measurements are compared with.
pub(crate) struct Scene<'a> {
    pub(crate) pods: &'a [Arc<Pod>],
    /// What the target wants.
    pub(crate) wanted: i32,
    /// What it has.
    pub(crate) there: i32,
    pub(crate) tolerance: Tolerance,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) replicas: i32,
    /// Of one pod on average, or of the whole, in thousandths.
    pub(crate) usage: i64,
    /// In percent of what was asked for.
    pub(crate) utilization: Option<i32>,
}

/// What pods use, by their names.
type Values<'a> = BTreeMap<&'a str, i64>;

/// How use relates to its target.
struct Use {
    ratio: f64,
    average: i64,
    utilization: Option<i32>,
}

impl Scene<'_> {
    /// In percent of what the pods asked for.
    pub(crate) fn utilization(
        &self,
        samples: &Samples,
        resource: &str,
        container: Option<&str>,
        target: i32,
    ) -> Result<Answer, String> {
        let of_pod = |pod: &Arc<Pod>| Ok((pod.name_any(), pods::request(pod, container, resource)?));
        let requests: Result<BTreeMap<String, i64>, String> = self.pods.iter().map(of_pod).collect();
        let of = |values: &Values<'_>| utilization(values, requests.as_ref().map_err(String::clone)?, target);
        // Who is not measured may use all that it asked for.
        let all = |pod: &str| {
            let request = requests.as_ref().ok().and_then(|requests| requests.get(pod)).copied();
            request.unwrap_or(0).saturating_mul(target.max(100).into()) / 100
        };
        self.settle(samples, resource, &of, &all)
    }

    /// As an amount for each pod. `resource` is empty where it is none.
    pub(crate) fn average(&self, samples: &Samples, resource: &str, target: i64) -> Result<Answer, String> {
        let of = |values: &Values<'_>| {
            let average = sum(values.values().copied()) / i64::try_from(values.len()).unwrap_or(1).max(1);
            Ok(Use { ratio: average as f64 / target as f64, average, utilization: None })
        };
        self.settle(samples, resource, &of, &|_| target)
    }

    fn settle(
        &self,
        samples: &Samples,
        resource: &str,
        of: &dyn Fn(&Values<'_>) -> Result<Use, String>,
        most: &dyn Fn(&str) -> i64,
    ) -> Result<Answer, String> {
        if self.pods.is_empty() {
            return Err(NO_PODS.to_owned());
        }
        let groups = Groups::of(self.pods, samples, resource, self.settings, self.now);
        let counts = |name: &str| !groups.ignored.contains(name) && !groups.unready.contains(name);
        let mut values: Values<'_> = samples
            .iter()
            .filter(|(name, _)| counts(name))
            .map(|(name, sample)| (name.as_str(), sample.value))
            .collect();
        if values.is_empty() {
            return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
        }
        let used = of(&values)?;
        let answer = |replicas| Answer { replicas, usage: used.average, utilization: used.utilization };
        let waits_for_unready = !groups.unready.is_empty() && used.ratio > 1.0;
        if !waits_for_unready && groups.missing.is_empty() {
            let replicas = match self.tolerance.allows(used.ratio) {
                true => self.wanted,
                false => up(used.ratio * groups.ready as f64),
            };
            return Ok(answer(replicas));
        }
        // What isn't known is taken for what changes least.
        if used.ratio < 1.0 {
            values.extend(groups.missing.iter().map(|name| (name.as_str(), most(name))));
        } else if used.ratio > 1.0 {
            values.extend(groups.missing.iter().map(|name| (name.as_str(), 0)));
        }
        if waits_for_unready {
            values.extend(groups.unready.iter().map(|name| (name.as_str(), 0)));
        }
        let careful = of(&values)?.ratio;
        let turned = (used.ratio < 1.0 && careful > 1.0) || (used.ratio > 1.0 && careful < 1.0);
        if turned || self.tolerance.allows(careful) {
            return Ok(answer(self.wanted));
        }
        let replicas = up(careful * values.len() as f64);
        let turned = (careful < 1.0 && replicas > self.wanted) || (careful > 1.0 && replicas < self.wanted);
        Ok(answer(if turned { self.wanted } else { replicas }))
    }

    /// Something that all pods share.
    pub(crate) fn whole(&self, values: &[i64], target: i64) -> Result<Answer, String> {
        let usage = sum(values.iter().copied());
        let ratio = usage as f64 / target as f64;
        let answer = |replicas| Answer { replicas, usage, utilization: None };
        if self.wanted == 0 {
            return Ok(answer(up(ratio)));
        }
        if self.tolerance.allows(ratio) {
            return Ok(answer(self.wanted));
        }
        if self.pods.is_empty() {
            return Err(format!("unable to calculate ready pods: {NO_PODS}"));
        }
        Ok(answer(up(ratio * pods::ready(self.pods) as f64)))
    }

    /// Something that is shared out among the pods.
    pub(crate) fn share(&self, values: &[i64], target: i64) -> Answer {
        let whole = sum(values.iter().copied());
        let there = f64::from(self.there);
        let fits = self.there > 0 && self.tolerance.allows(whole as f64 / (target as f64 * there));
        let replicas = if fits { self.there } else { up(whole as f64 / target as f64) };
        let usage = if self.there > 0 { (whole as f64 / there).ceil() as i64 } else { whole };
        Answer { replicas, usage, utilization: None }
    }
}

fn utilization(values: &Values<'_>, requests: &BTreeMap<String, i64>, target: i32) -> Result<Use, String> {
    let known: Vec<(i64, i64)> =
        values.iter().filter_map(|(name, value)| Some((*value, *requests.get(*name)?))).collect();
    let used = sum(known.iter().map(|(value, _)| *value));
    let asked = sum(known.iter().map(|(_, request)| *request));
    if asked == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let percent = i128::from(used) * 100 / i128::from(asked);
    let percent = i32::try_from(percent).unwrap_or(i32::MAX);
    Ok(Use {
        ratio: f64::from(percent) / f64::from(target),
        average: used / i64::try_from(known.len()).unwrap_or(1).max(1),
        utilization: Some(percent),
    })
}

fn sum(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, i64::saturating_add)
}

/// Rounded up; what is too large becomes the largest number there is.
fn up(replicas: f64) -> i32 {
    replicas.ceil() as i32
}

#[cfg(test)]
mod tests;
