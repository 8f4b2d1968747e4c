//! From how many replicas are asked for to how many there may be now: steady over a window, no faster than a rate, and between
//! the least and the most. Pure.

use jiff::{SignedDuration, Timestamp};

use crate::autoscaler::{Behavior, Policy, Rules, Spec};
use crate::history::History;
use crate::settings::Settings;

/// How fast a target may grow whose autoscaler doesn't say it: twofold, or to this many.
const GROWTH: i32 = 2;
const SMALL: i32 = 4;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limited {
    pub(crate) replicas: i32,
    /// Reason and message of `AbleToScale`.
    pub(crate) able: (&'static str, &'static str),
    /// Whether it was limited, with reason and message of `ScalingLimited`.
    pub(crate) limited: (bool, &'static str, &'static str),
}

const READY: (&str, &str) = ("ReadyForNewScale", "recommended size matches current size");
const DOWN_STABILIZED: (&str, &str) = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const UP_STABILIZED: (&str, &str) = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const WITHIN: (&str, &str) = ("DesiredWithinRange", "the desired count is within the acceptable range");
const TOO_FAST_UP: (&str, &str) =
    ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
const TOO_FAST_DOWN: (&str, &str) =
    ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate");
const TOO_MANY: (&str, &str) =
    ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const TOO_FEW: (&str, &str) =
    ("TooFewReplicas", "the desired replica count is less than the minimum replica count");

/// What limits are reckoned from.
pub(crate) struct Past<'a> {
    pub(crate) history: &'a History,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

impl Past<'_> {
    /// `wanted` is asked for where `current` are.
    pub(crate) fn limit(&self, spec: &Spec, current: i32, wanted: i32) -> Limited {
        let (steady, able) = match &spec.behavior {
            None => self.steady(wanted),
            Some(behavior) => self.steady_as_told(behavior, current, wanted),
        };
        let able = if steady == wanted { READY } else { able };
        let (replicas, (reason, message)) = match &spec.behavior {
            None => self.usual_rate(spec, current, steady),
            Some(behavior) => self.rate(spec, behavior, current, steady),
        };
        Limited { replicas, able, limited: (replicas != steady, reason, message) }
    }

    fn downscale_window(&self) -> SignedDuration {
        SignedDuration::try_from(self.settings.downscale_window).unwrap_or(SignedDuration::MAX)
    }

    fn steady(&self, wanted: i32) -> (i32, (&'static str, &'static str)) {
        let recent = self.history.within(self.downscale_window(), self.now);
        (recent.fold(wanted, i32::max), DOWN_STABILIZED)
    }

    fn steady_as_told(
        &self,
        behavior: &Behavior,
        current: i32,
        wanted: i32,
    ) -> (i32, (&'static str, &'static str)) {
        let window = |rules: &Option<Rules>, usual: SignedDuration| {
            let told = rules.as_ref().and_then(|rules| rules.stabilization_window_seconds);
            told.map_or(usual, SignedDuration::from_secs)
        };
        let up = window(&behavior.scale_up, SignedDuration::ZERO);
        let down = window(&behavior.scale_down, self.downscale_window());
        let lowest = self.history.within(up, self.now).fold(wanted, i32::min);
        let highest = self.history.within(down, self.now).fold(wanted, i32::max);
        let steady = current.max(lowest).min(highest);
        (steady, if wanted >= current { UP_STABILIZED } else { DOWN_STABILIZED })
    }

    /// How many there were when a period began.
    fn began_with(&self, current: i32, period: SignedDuration) -> i32 {
        current.saturating_sub(self.history.grown(period, self.now))
    }

    fn usual_rate(&self, spec: &Spec, current: i32, wanted: i32) -> (i32, (&'static str, &'static str)) {
        // We look more often than a rate is meant for, so it is reckoned from the beginning of the usual period.
        let period = SignedDuration::try_from(self.settings.every).unwrap_or(SignedDuration::ZERO);
        let fastest = self.began_with(current, period).saturating_mul(GROWTH).max(SMALL).max(current);
        let (most, why) = most(spec, fastest);
        if wanted < spec.least() {
            (spec.least(), TOO_FEW)
        } else if wanted > most {
            (most, why)
        } else {
            (wanted, WITHIN)
        }
    }

    fn rate(
        &self,
        spec: &Spec,
        behavior: &Behavior,
        current: i32,
        wanted: i32,
    ) -> (i32, (&'static str, &'static str)) {
        if wanted > current {
            let fastest = self.fastest_up(behavior.scale_up.as_ref(), current).max(current);
            let (most, why) = most(spec, fastest);
            if wanted > most {
                return (most, why);
            }
        }
        if wanted < current {
            let fastest = self.fastest_down(behavior.scale_down.as_ref(), current).min(current);
            let (least, why) =
                if fastest > spec.least() { (fastest, TOO_FAST_DOWN) } else { (spec.least(), TOO_FEW) };
            if wanted < least {
                return (least, why);
            }
        }
        (wanted, WITHIN)
    }

    fn fastest_up(&self, rules: Option<&Rules>, current: i32) -> i32 {
        let usual = [
            Policy { class: "Pods".to_owned(), value: 4, period_seconds: 15 },
            Policy { class: "Percent".to_owned(), value: 100, period_seconds: 15 },
        ];
        let allowed = |policy: &Policy| {
            let began = self.began_with(current, SignedDuration::from_secs(policy.period_seconds));
            match &*policy.class {
                "Percent" => (f64::from(began) * (1.0 + f64::from(policy.value) / 100.0)).ceil() as i32,
                _ => began.saturating_add(policy.value),
            }
        };
        let all = policies(rules, &usual).iter().map(allowed);
        match select(rules) {
            "Disabled" => Some(current),
            "Min" => all.min(),
            _ => all.max(),
        }
        .unwrap_or(current)
    }

    fn fastest_down(&self, rules: Option<&Rules>, current: i32) -> i32 {
        let usual = [Policy { class: "Percent".to_owned(), value: 100, period_seconds: 15 }];
        let allowed = |policy: &Policy| {
            let began = self.began_with(current, SignedDuration::from_secs(policy.period_seconds));
            match &*policy.class {
                "Percent" => (f64::from(began) * (1.0 - f64::from(policy.value) / 100.0)) as i32,
                _ => began.saturating_sub(policy.value),
            }
        };
        let all = policies(rules, &usual).iter().map(allowed);
        match select(rules) {
            "Disabled" => Some(current),
            // The smallest change leaves the most.
            "Min" => all.max(),
            _ => all.min(),
        }
        .unwrap_or(current)
    }
}

fn most(spec: &Spec, fastest: i32) -> (i32, (&'static str, &'static str)) {
    if spec.max_replicas > fastest { (fastest, TOO_FAST_UP) } else { (spec.max_replicas, TOO_MANY) }
}

fn select(rules: Option<&Rules>) -> &str {
    rules.and_then(|rules| rules.select_policy.as_deref()).unwrap_or("Max")
}

fn policies<'a>(rules: Option<&'a Rules>, usual: &'a [Policy]) -> &'a [Policy] {
    rules.map(|rules| &*rules.policies).filter(|policies| !policies.is_empty()).unwrap_or(usual)
}

#[cfg(test)]
mod tests;
