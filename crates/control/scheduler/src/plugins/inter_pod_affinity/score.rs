//! Where a pod would be in the company that it prefers, and that prefers it.

use super::{InterPodAffinity, NAME, Sums};
use crate::cluster::{Carried, Cluster};
use crate::node::Node;
use crate::plugin::{MAX_SCORE, PreparedScore, Score};
use crate::pod::PodView;
use crate::term::Group;

impl Score for InterPodAffinity {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
        _: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        let prefers = !pod.preferred_affinity.is_empty() || !pod.preferred_anti_affinity.is_empty();
        if self.ignore_preferences_of_others && !prefers {
            return None;
        }
        let mut sums = Sums::default();
        let near = pod.preferred_affinity.iter().map(|(weight, term)| (i64::from(*weight), term));
        let far = pod.preferred_anti_affinity.iter().map(|(weight, term)| (-i64::from(*weight), term));
        for (weight, term) in near.chain(far) {
            let counts = cluster.matching(&Group::of(term.who.clone()));
            sums.of(&term.topology_key, cluster).add_all(&counts, weight);
        }
        for (carried, term, slots) in cluster.carriers(pod) {
            let weight = match carried {
                Carried::Affinity => self.hard_weight,
                Carried::AntiAffinity => continue,
                Carried::PreferredAffinity(weight) => weight.into(),
                Carried::PreferredAntiAffinity(weight) => -i64::from(weight),
            };
            if weight != 0 && term.who.matches(pod, cluster.namespaces()) {
                let sum = sums.of(&term.topology_key, cluster);
                slots.iter().for_each(|(slot, pods)| sum.add(*slot, weight * i64::from(*pods)));
            }
        }
        sums.0.retain(|sum| sum.touched);
        (!sums.0.is_empty()).then(|| Box::new(Preferred(sums)) as _)
    }
}

struct Preferred(Sums);

impl PreparedScore for Preferred {
    fn score(&self, node: &Node) -> i64 {
        self.0.0.iter().filter_map(|sum| sum.at(node.slot)).sum()
    }

    /// The lowest becomes zero: it may have been less.
    fn normalize(&self, scores: &mut [i64]) {
        let lowest = scores.iter().copied().min().unwrap_or_default();
        let highest = scores.iter().copied().max().unwrap_or_default();
        for score in scores {
            let part =
                if highest > lowest { (*score - lowest) as f64 / (highest - lowest) as f64 } else { 0.0 };
            *score = (MAX_SCORE as f64 * part) as i64;
        }
    }
}
