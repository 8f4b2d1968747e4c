//! Where a constraint forbids a pod: where it would make one domain too full, compared with the emptiest.

use super::{Counted, NAME, PodTopologySpread, by_domain};
use crate::cluster::Cluster;
use crate::node::{Node, NodeFacts};
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;
use crate::term::Spread;

const TOO_UNEVEN: &str = "node(s) didn't match pod topology spread constraints";
const NO_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

impl Filter for PodTopologySpread {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        let constraints = self.constraints(pod, cluster, true)?;
        if constraints.is_empty() {
            return Err(Whole::Skip);
        }
        let counted: Vec<_> =
            constraints.into_iter().map(|spread| Counted::new(spread, pod, cluster)).collect();
        let domains = by_domain(&counted, pod, cluster, false);
        let with_domains = counted.into_iter().zip(domains);
        let required = with_domains.map(|(counted, domains)| Required::new(counted, domains, pod)).collect();
        Ok(Box::new(Even { pod, required }))
    }

    fn minds(&self, _: &Change<'_>) -> bool {
        true
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        let required = || pod.spread.iter().filter(|spread| spread.required);
        if pod.spread.is_empty() {
            // Which pods the default constraints count is only known when they are used.
            return !self.built_in;
        }
        let counts = |other: &PodView| {
            other.key.namespace == pod.key.namespace
                && required().any(|spread| spread.selector.matches(&other.labels))
        };
        let has_labels =
            |node: &NodeFacts| required().all(|spread| node.labels.contains_key(&spread.topology_key));
        match change {
            Change::PodPlaced(other) | Change::PodGone(other) => counts(other),
            Change::PodChanged { before, now } => {
                now.key.namespace == pod.key.namespace
                    && (before.leaving != now.leaving || before.labels != now.labels)
                    && (counts(before) || counts(now))
            }
            Change::NodeAdded(node) => has_labels(node),
            // It may have been the emptiest domain.
            Change::NodeGone(_) => true,
            Change::NodeChanged { before, now } => {
                has_labels(before) != has_labels(now)
                    || (has_labels(now) && (before.labels != now.labels || before.taints != now.taints))
            }
            Change::Storage { .. } | Change::Namespace(_) => false,
        }
    }
}

struct Even<'a> {
    pod: &'a PodView,
    required: Vec<Required>,
}

struct Required {
    counted: Counted,
    domains: Vec<Option<i64>>,
    /// How many domains there are.
    present: usize,
    lowest: i64,
    /// 1 if the pod would be counted itself.
    itself: i64,
}

impl Required {
    fn new(counted: Counted, domains: Vec<Option<i64>>, pod: &PodView) -> Self {
        let itself = i64::from(counted.spread.selector.matches(&pod.labels));
        let mut all = Self { counted, present: domains.iter().flatten().count(), domains, lowest: 0, itself };
        all.find_lowest();
        all
    }

    /// With fewer domains than there should be, a missing one is the emptiest.
    fn find_lowest(&mut self) {
        let enough = i64::try_from(self.present).is_ok_and(|there| there >= self.spread().min_domains.into());
        let lowest = self.domains.iter().flatten().min().copied();
        self.lowest = lowest.filter(|_| enough).unwrap_or(0);
    }

    fn spread(&self) -> &Spread {
        &self.counted.spread
    }

    fn change(&mut self, domain: usize, by: i64) {
        let Some(entry) = self.domains.get_mut(domain) else { return };
        if entry.is_none() {
            self.present += 1;
        }
        *entry.get_or_insert(0) += by;
        self.find_lowest();
    }
}

impl PreparedFilter for Even<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        for one in &self.required {
            let Some(domain) = one.counted.topology.at(node.slot) else {
                return Err(Rejection::lasting(NO_LABEL));
            };
            let there = one.domains.get(domain).copied().flatten().unwrap_or(0);
            if there + one.itself - one.lowest > one.spread().max_skew.into() {
                return Err(Rejection::new(TOO_UNEVEN));
            }
        }
        Ok(())
    }

    fn add(&mut self, pod: &PodView, node: &Node) {
        self.change(pod, node, 1);
    }

    fn remove(&mut self, pod: &PodView, node: &Node) {
        self.change(pod, node, -1);
    }
}

impl Even<'_> {
    fn change(&mut self, other: &PodView, node: &Node, by: i64) {
        let labelled = self.required.iter().all(|one| one.counted.topology.at(node.slot).is_some());
        if !labelled || other.leaving || other.key.namespace != self.pod.key.namespace {
            return;
        }
        for one in &mut self.required {
            let spread = one.spread();
            let counts = !spread.selector.is_everything()
                && spread.selector.matches(&other.labels)
                && one.counted.includes(self.pod, node);
            if let Some(domain) = one.counted.topology.at(node.slot).filter(|_| counts) {
                one.change(domain, by);
            }
        }
    }
}
