//! NodeResourcesFit: a node has room for what a pod asks for; and by the chosen strategy, how good a use of the node it is.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;

use super::allocation::{Point, Share, Strategy};
use crate::amounts::Amounts;
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, PreparedScore, Rejection, Score, Whole};
use crate::pod::PodView;

pub struct NodeResourcesFit {
    ignored: BTreeSet<String>,
    ignored_groups: BTreeSet<String>,
    strategy: Strategy,
    resources: Vec<Weighed>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Arguments {
    ignored_resources: BTreeSet<String>,
    ignored_resource_groups: BTreeSet<String>,
    scoring_strategy: ScoringStrategy,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ScoringStrategy {
    r#type: StrategyName,
    resources: Vec<Weighed>,
    requested_to_capacity_ratio: Line,
}

#[derive(Default, Deserialize)]
enum StrategyName {
    #[default]
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
}

/// A resource that counts for a score, and how much.
#[derive(Clone, Debug, Deserialize)]
pub struct Weighed {
    pub name: String,
    #[serde(default = "one")]
    pub weight: i64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    shape: Vec<ShapePoint>,
}

#[derive(Deserialize)]
struct ShapePoint {
    utilization: i64,
    /// From 0 to 10.
    score: i64,
}

fn one() -> i64 {
    1
}

/// The resources that count unless the configuration names others.
pub fn usual() -> Vec<Weighed> {
    ["cpu", "memory"].map(|name| Weighed { name: name.to_owned(), weight: 1 }).into()
}

impl NodeResourcesFit {
    pub fn new(arguments: Arguments) -> Self {
        let scoring = arguments.scoring_strategy;
        let points = scoring.requested_to_capacity_ratio.shape.iter();
        let strategy = match scoring.r#type {
            StrategyName::LeastAllocated => Strategy::LeastAllocated,
            StrategyName::MostAllocated => Strategy::MostAllocated,
            StrategyName::RequestedToCapacityRatio => Strategy::RequestedToCapacityRatio(
                points
                    .map(|point| Point { utilization: point.utilization, score: point.score * 10 })
                    .collect(),
            ),
        };
        Self {
            ignored: arguments.ignored_resources,
            ignored_groups: arguments.ignored_resource_groups,
            strategy,
            resources: if scoring.resources.is_empty() { usual() } else { scoring.resources },
        }
    }

    fn ignores(&self, resource: &str) -> bool {
        let group = || resource.split_once('/').map_or("", |(group, _)| group);
        self.ignored.contains(resource)
            || (!self.ignored_groups.is_empty() && self.ignored_groups.contains(group()))
    }

    /// What is missing, given what there is, what is taken, and by how many pods.
    fn missing(&self, asked: &Amounts, there: &Amounts, taken: &Amounts, pods: usize) -> Option<Rejection> {
        let mut missing = Missing::default();
        if i64::try_from(pods).is_ok_and(|pods| pods + 1 > there.pods) {
            missing.say("Too many pods".into(), true);
        }
        let mut check = |asked: i64, there: i64, taken: i64, reason: &dyn Fn() -> Cow<'static, str>| {
            if asked > 0 && asked > there - taken {
                // If it is more than the whole node, it makes no difference who leaves.
                missing.say(reason(), asked <= there);
            }
        };
        check(asked.milli_cpu, there.milli_cpu, taken.milli_cpu, &|| "Insufficient cpu".into());
        check(asked.memory, there.memory, taken.memory, &|| "Insufficient memory".into());
        check(asked.storage, there.storage, taken.storage, &|| "Insufficient ephemeral-storage".into());
        for (name, amount) in &asked.others {
            if *amount > 0 && !self.ignores(name) {
                check(*amount, there.get(name), taken.get(name), &|| format!("Insufficient {name}").into());
            }
        }
        missing.0
    }
}

#[derive(Default)]
struct Missing(Option<Rejection>);

impl Missing {
    fn say(&mut self, reason: Cow<'static, str>, resolvable: bool) {
        match &mut self.0 {
            Some(rejection) => {
                rejection.more.push(reason);
                rejection.resolvable &= resolvable;
            }
            None => self.0 = Some(Rejection { resolvable, ..Rejection::new(reason) }),
        }
    }
}

impl Filter for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        Ok(Box::new(Room { plugin: self, asked: &pod.requests }))
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        let fits = |there: &Amounts| self.missing(&pod.requests, there, &Amounts::default(), 0).is_none();
        match change {
            Change::PodGone(_) => true,
            Change::PodChanged { before, now } => less(&now.requests, &before.requests, &pod.requests),
            Change::NodeAdded(node) => fits(&node.allocatable),
            Change::NodeChanged { before, now } => {
                let more_pods = before.allocatable.pods < now.allocatable.pods;
                fits(&now.allocatable)
                    && (more_pods || less(&before.allocatable, &now.allocatable, &pod.requests))
            }
            _ => false,
        }
    }
}

/// Whether there is less of something that is asked for.
fn less(one: &Amounts, other: &Amounts, asked: &Amounts) -> bool {
    let fixed = ["cpu", "memory", "ephemeral-storage"];
    let names = fixed.into_iter().chain(asked.others.iter().map(|(name, _)| &**name));
    names.filter(|name| asked.get(name) > 0).any(|name| one.get(name) < other.get(name))
}

struct Room<'a> {
    plugin: &'a NodeResourcesFit,
    asked: &'a Amounts,
}

impl PreparedFilter for Room<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        match self.plugin.missing(self.asked, &node.allocatable, &node.requested, node.pods.len()) {
            None => Ok(()),
            Some(rejection) => Err(rejection),
        }
    }
}

impl Score for NodeResourcesFit {
    fn name(&self) -> &'static str {
        "NodeResourcesFit"
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        _: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        Some(Box::new(Use { plugin: self, pod }))
    }
}

struct Use<'a> {
    plugin: &'a NodeResourcesFit,
    pod: &'a PodView,
}

impl PreparedScore for Use<'_> {
    fn score(&self, node: &Node) -> i64 {
        self.plugin.strategy.score(&shares(&self.plugin.resources, node, &node.counted, &self.pod.counted))
    }
}

/// What the node would have of each resource, `taken` and `asked` being measured in the same way. Devices that the pod does
/// not ask for don't count.
pub fn shares(resources: &[Weighed], node: &Node, taken: &Amounts, asked: &Amounts) -> Vec<Share> {
    let share = |resource: &Weighed| {
        let asked = asked.get(&resource.name);
        let basic = matches!(&*resource.name, "cpu" | "memory" | "ephemeral-storage");
        let allocatable = if asked == 0 && !basic { 0 } else { node.allocatable.get(&resource.name) };
        let taken = taken.get(&resource.name);
        Share { weight: resource.weight, allocatable, taken, with_pod: taken + asked }
    };
    resources.iter().map(share).collect()
}

#[cfg(test)]
mod tests;
