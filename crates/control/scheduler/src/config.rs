//! What can be chosen: profiles, their plugins with weights and arguments, and how much of a large cluster is looked at. Reads the
//! `scheduler` part of our own file, which has the shape of a `KubeSchedulerConfiguration`. Makes profiles of it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use crate::decide::Profile;
use crate::plugins::{self, PluginError};
use crate::pod::DEFAULT_SCHEDULER;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the scheduler's configuration")]
    Shape(#[from] serde_json::Error),
    #[error("profile {profile}")]
    Plugin { profile: String, source: PluginError },
    #[error("the profile {0} is there twice")]
    Twice(String),
    #[error("{field} is {value}; it must be from {from} to {to}")]
    Range { field: &'static str, value: i64, from: i64, to: i64 },
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    pub profiles: Vec<ProfileConfig>,
    /// 0 for a share that falls as the cluster grows.
    pub percentage_of_nodes_to_score: i64,
    pub pod_initial_backoff_seconds: i64,
    pub pod_max_backoff_seconds: i64,
    /// For profiles that don't choose one.
    pub policy: Policy,
    /// Tells equal nodes apart.
    pub seed: u64,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct ProfileConfig {
    pub scheduler_name: Option<String>,
    pub percentage_of_nodes_to_score: Option<i64>,
    pub policy: Option<Policy>,
    pub plugins: Points,
    pub plugin_config: Vec<PluginConfig>,
}

/// Which nodes are better, everything else being equal.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub enum Policy {
    /// As in Kubernetes: by what the pods on them ask for.
    #[default]
    Default,
    /// Those with the fewest pods.
    LeastRequest,
    /// Those that are used least, as measured; by requests where nothing is measured.
    LeastUtilization,
}

/// Plugins by what they are asked for. Those of `multiPoint` do all that they can.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Points {
    pub multi_point: Choice,
    pub filter: Choice,
    pub pre_filter: Choice,
    pub post_filter: Choice,
    pub pre_score: Choice,
    pub score: Choice,
    pub pre_bind: Choice,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Choice {
    pub enabled: Vec<Chosen>,
    /// `*` for all that run unless something is said.
    pub disabled: Vec<Chosen>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Chosen {
    pub name: String,
    pub weight: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct PluginConfig {
    pub name: String,
    pub args: Value,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profiles: vec![ProfileConfig::default()],
            percentage_of_nodes_to_score: 0,
            pod_initial_backoff_seconds: 1,
            pod_max_backoff_seconds: 10,
            policy: Policy::Default,
            seed: 0,
        }
    }
}

impl Policy {
    fn plugin(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::LeastRequest => Some("LeastRequest"),
            Self::LeastUtilization => Some("LeastUtilization"),
        }
    }
}

/// A policy takes the place of these scores. What pods prefer by their affinity and spread still counts, though less.
const REPLACED: &[&str] = &["NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality"];
const POLICY_WEIGHT: i64 = 5;
const PREEMPTION: &str = "DefaultPreemption";
/// Part of every profile, whatever it says: without them nothing would ever be bound, or in order.
const ALWAYS: &[&str] = &["DefaultBinder", "PrioritySort", "SchedulingGates"];
/// These we leave out; a file written for Kubernetes may still name them.
const LEFT_OUT: &[&str] =
    &["DynamicResources", "NodeDeclaredFeatures", "GangScheduling", "TopologyPlacement", "PodGroupPodsCount"];

impl Config {
    /// From the value of a file's `scheduler` part, or from a whole `KubeSchedulerConfiguration`.
    pub fn read(value: &Value) -> Result<Self, ConfigError> {
        let mut config: Self = match value {
            Value::Null => Self::default(),
            value => serde_json::from_value(value.clone())?,
        };
        if config.profiles.is_empty() {
            config.profiles.push(ProfileConfig::default());
        }
        let shares = config.profiles.iter().filter_map(|profile| profile.percentage_of_nodes_to_score);
        for value in shares.chain([config.percentage_of_nodes_to_score]) {
            within("percentageOfNodesToScore", value, 0, 100)?;
        }
        within("podInitialBackoffSeconds", config.pod_initial_backoff_seconds, 1, 3600)?;
        let shortest = config.pod_initial_backoff_seconds;
        within("podMaxBackoffSeconds", config.pod_max_backoff_seconds, shortest, 86_400)?;
        // Whoever reads a file wants to hear of its mistakes then, not when the first pod comes.
        config.made()?;
        Ok(config)
    }

    pub fn backoff(&self) -> (SignedDuration, SignedDuration) {
        let seconds = SignedDuration::from_secs;
        (seconds(self.pod_initial_backoff_seconds), seconds(self.pod_max_backoff_seconds))
    }

    /// Whether somebody has to measure how much nodes are used.
    pub fn measures(&self) -> bool {
        self.profiles.iter().any(|profile| profile.policy.unwrap_or(self.policy) == Policy::LeastUtilization)
    }

    pub(crate) fn made(&self) -> Result<Vec<Profile>, ConfigError> {
        let mut made: Vec<Profile> = Vec::new();
        for profile in &self.profiles {
            let new = self.profile(profile)?;
            if made.iter().any(|other| other.scheduler == new.scheduler) {
                return Err(ConfigError::Twice(new.scheduler));
            }
            made.push(new);
        }
        Ok(made)
    }

    fn profile(&self, profile: &ProfileConfig) -> Result<Profile, ConfigError> {
        let scheduler = profile.scheduler_name.clone().unwrap_or_else(|| DEFAULT_SCHEDULER.to_owned());
        let arguments: BTreeMap<&str, &Value> =
            profile.plugin_config.iter().map(|config| (&*config.name, &config.args)).collect();
        let points = &profile.plugins;
        let percentage = profile.percentage_of_nodes_to_score.unwrap_or(self.percentage_of_nodes_to_score);
        let mut made = Profile {
            scheduler: scheduler.clone(),
            filters: Vec::new(),
            scores: Vec::new(),
            pre_binds: Vec::new(),
            percentage: usize::try_from(percentage).unwrap_or_default(),
            preempts: points.runs(&points.post_filter, PREEMPTION, true),
        };
        for (name, weight) in points.all() {
            let usual = plugins::DEFAULT.iter().find(|(usual, _)| *usual == name);
            let [filters, scores, pre_binds] = [&points.filter, &points.score, &points.pre_bind]
                .map(|point| points.runs(point, name, usual.is_some()));
            if !filters && !scores && !pre_binds {
                continue;
            }
            let arguments = arguments.get(name).copied().unwrap_or(&Value::Null);
            let parts = plugins::make(name, arguments)
                .map_err(|source| ConfigError::Plugin { profile: scheduler.clone(), source })?;
            made.filters.extend(parts.filter.filter(|_| filters));
            made.pre_binds.extend(parts.pre_bind.filter(|_| pre_binds));
            let said = points.score.enabled.iter().find(|chosen| chosen.name == name);
            let weight = said.and_then(|chosen| chosen.weight).or(weight).filter(|weight| *weight > 0);
            let weight = weight.unwrap_or_else(|| usual.map_or(1, |(_, weight)| (*weight).max(1)));
            made.scores.extend(parts.score.filter(|_| scores).map(|score| (score, weight)));
        }
        if let Some(name) = profile.policy.unwrap_or(self.policy).plugin() {
            let parts = plugins::make(name, &Value::Null)
                .map_err(|source| ConfigError::Plugin { profile: scheduler, source })?;
            made.scores.retain(|(score, _)| !REPLACED.contains(&score.name()));
            made.scores.extend(parts.score.map(|score| (score, POLICY_WEIGHT)));
        }
        Ok(made)
    }
}

impl Points {
    /// Every plugin that is named or runs by default, once, in order, with the weight that `multiPoint` gives it.
    fn all(&self) -> Vec<(&str, Option<i64>)> {
        let mut all: Vec<(&str, Option<i64>)> = Vec::new();
        let named =
            [&self.multi_point, &self.filter, &self.pre_filter, &self.score, &self.pre_score, &self.pre_bind];
        let named = named.into_iter().flat_map(|choice| &choice.enabled).map(|chosen| &*chosen.name);
        for name in plugins::DEFAULT.iter().map(|(name, _)| *name).chain(named) {
            let skipped = ALWAYS.contains(&name) || LEFT_OUT.contains(&name) || name == PREEMPTION;
            if !skipped && !all.iter().any(|(other, _)| *other == name) {
                let said = self.multi_point.enabled.iter().find(|chosen| chosen.name == name);
                all.push((name, said.and_then(|chosen| chosen.weight)));
            }
        }
        all
    }

    /// Whether a plugin runs at a point: what is said there counts more than what is said for all.
    fn runs(&self, point: &Choice, name: &str, by_default: bool) -> bool {
        if point.enables(name) {
            return true;
        }
        if point.disables(name) {
            return false;
        }
        self.multi_point.enables(name) || (by_default && !self.multi_point.disables(name))
    }
}

impl Choice {
    fn enables(&self, name: &str) -> bool {
        self.enabled.iter().any(|chosen| chosen.name == name)
    }

    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|chosen| chosen.name == "*" || chosen.name == name)
    }
}

fn within(field: &'static str, value: i64, from: i64, to: i64) -> Result<(), ConfigError> {
    if (from..=to).contains(&value) { Ok(()) } else { Err(ConfigError::Range { field, value, from, to }) }
}

#[cfg(test)]
mod tests;
