//! Where required terms, the pod's own and those of pods on nodes, forbid it.

use super::{InterPodAffinity, NAME, Sums, may_be};
use crate::cluster::{Carried, Cluster};
use crate::node::Node;
use crate::plugin::{Change, Filter, PreparedFilter, Rejection, Whole};
use crate::pod::PodView;
use crate::term::{Group, Term};

impl Filter for InterPodAffinity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
    ) -> Result<Box<dyn PreparedFilter + 'a>, Whole> {
        let namespaces = cluster.namespaces();
        let mut repelling = Sums::default();
        let required = cluster.carriers(pod).filter(|(carried, ..)| *carried == Carried::AntiAffinity);
        for (_, term, slots) in required.filter(|(_, term, _)| term.who.matches(pod, namespaces)) {
            let sum = repelling.of(&term.topology_key, cluster);
            slots.iter().for_each(|(slot, pods)| sum.add(*slot, i64::from(*pods)));
        }
        if pod.affinity.is_empty() && pod.anti_affinity.is_empty() && repelling.are_zero() {
            return Err(Whole::Skip);
        }

        let mut attracting = Sums::default();
        if !pod.affinity.is_empty() {
            // One and the same pod must be what all the terms ask for.
            let counts = cluster.matching(&all_of(&pod.affinity));
            for term in &pod.affinity {
                attracting.of(&term.topology_key, cluster).add_all(&counts, 1);
            }
        }
        let mut avoided = Sums::default();
        for term in &pod.anti_affinity {
            let counts = cluster.matching(&Group::of(term.who.clone()));
            avoided.of(&term.topology_key, cluster).add_all(&counts, 1);
        }
        let first = attracting.are_zero();
        Ok(Box::new(Company { pod, cluster, attracting, first, avoided, repelling }))
    }

    fn minds(&self, _: &Change<'_>) -> bool {
        true
    }

    fn helped_by(&self, pod: &PodView, change: &Change<'_>) -> bool {
        let wanted = |other: &PodView| {
            !pod.affinity.is_empty() && pod.affinity.iter().all(|term| may_be(&term.who, other))
        };
        let avoided = |other: &PodView| pod.anti_affinity.iter().any(|term| may_be(&term.who, other));
        let avoids = |other: &PodView| other.anti_affinity.iter().any(|term| may_be(&term.who, pod));
        let labelled =
            |node: &Node| pod.affinity.iter().all(|term| node.labels.contains_key(&term.topology_key));
        match change {
            Change::PodPlaced(other) => wanted(other),
            Change::PodGone(other) => avoided(other) || avoids(other),
            Change::PodChanged { before, now } => {
                (!wanted(before) && wanted(now)) || (avoided(before) && !avoided(now))
            }
            Change::NodeAdded(node) => labelled(node),
            Change::NodeChanged { before, now } => before.labels != now.labels && labelled(now),
            // Terms can ask for namespaces by their labels, those of others for this pod's.
            Change::Namespace(_) => true,
            Change::NodeGone(_) | Change::Storage { .. } => false,
        }
    }
}

fn all_of(terms: &[Term]) -> Group {
    Group { who: terms.iter().map(|term| term.who.clone()).collect(), with_leaving: true }
}

struct Company<'a> {
    pod: &'a PodView,
    cluster: &'a Cluster,
    /// Pods that it must be near to.
    attracting: Sums,
    /// There are no such pods anywhere.
    first: bool,
    /// Pods that it must be far from.
    avoided: Sums,
    /// Pods that must be far from it.
    repelling: Sums,
}

impl Company<'_> {
    /// The first of a group whose members want to be near to each other may be anywhere; otherwise none would ever run.
    fn begins_its_group(&self) -> bool {
        self.first && all_of(&self.pod.affinity).contains(self.pod, self.cluster.namespaces())
    }

    fn change(&mut self, other: &PodView, node: &Node, by: i64) {
        let namespaces = self.cluster.namespaces();
        for term in other.anti_affinity.iter().filter(|term| term.who.matches(self.pod, namespaces)) {
            self.repelling.of(&term.topology_key, self.cluster).add(node.slot, by);
        }
        for term in self.pod.anti_affinity.iter().filter(|term| term.who.matches(other, namespaces)) {
            self.avoided.of(&term.topology_key, self.cluster).add(node.slot, by);
        }
        if !self.pod.affinity.is_empty() && all_of(&self.pod.affinity).contains(other, namespaces) {
            for term in &self.pod.affinity {
                self.attracting.of(&term.topology_key, self.cluster).add(node.slot, by);
            }
            self.first = self.attracting.are_zero();
        }
    }
}

impl PreparedFilter for Company<'_> {
    fn check(&self, node: &Node) -> Result<(), Rejection> {
        let lonely = self.attracting.0.iter().any(|sum| sum.at(node.slot).is_none_or(|pods| pods <= 0));
        if lonely {
            let labelled = self.attracting.0.iter().all(|sum| sum.at(node.slot).is_some());
            if !labelled || !self.begins_its_group() {
                return Err(Rejection::lasting("node(s) didn't match pod affinity rules"));
            }
        }
        let near = |sums: &Sums| sums.0.iter().any(|sum| sum.at(node.slot).is_some_and(|pods| pods > 0));
        if near(&self.avoided) {
            return Err(Rejection::new("node(s) didn't match pod anti-affinity rules"));
        }
        if near(&self.repelling) {
            return Err(Rejection::new("node(s) didn't satisfy existing pods anti-affinity rules"));
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
