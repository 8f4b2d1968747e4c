//! Where a pod would spread best: the fewer of its kind in a domain, the better.

use super::{Counted, HOSTNAME, NAME, PodTopologySpread, by_domain};
use crate::cluster::Cluster;
use crate::node::Node;
use crate::plugin::{MAX_SCORE, PreparedScore, Score};
use crate::pod::PodView;

impl Score for PodTopologySpread {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare<'a>(
        &'a self,
        pod: &'a PodView,
        cluster: &'a Cluster,
        nodes: &[&'a Node],
    ) -> Option<Box<dyn PreparedScore + 'a>> {
        // What can't be known yet is no reason to keep the pod waiting: it is only a wish.
        let constraints = self.constraints(pod, cluster, false).ok()?;
        if constraints.is_empty() {
            return None;
        }
        let any_label = self.built_in && pod.spread.is_empty();
        let counted: Vec<_> =
            constraints.into_iter().map(|spread| Counted::new(spread, pod, cluster)).collect();
        let labelled = |node: &Node| counted.iter().all(|one| one.topology.at(node.slot).is_some());
        let ignored: Vec<bool> = nodes.iter().map(|node| !any_label && !labelled(node)).collect();
        let scored: Vec<&Node> =
            nodes.iter().zip(&ignored).filter(|(_, ignored)| !**ignored).map(|(node, _)| *node).collect();

        let domains = by_domain(&counted, pod, cluster, any_label);
        let wishes = counted.into_iter().zip(domains);
        let wishes = wishes.map(|(counted, domains)| Wish {
            weight: (number_of_domains(&counted, &scored) as f64 + 2.0).ln(),
            by_node: counted.spread.topology_key == HOSTNAME,
            counted,
            domains,
        });
        Some(Box::new(Spreading { wishes: wishes.collect(), ignored, any_label }))
    }
}

/// Among the nodes to choose from. Those without the label are a domain as well.
fn number_of_domains(counted: &Counted, nodes: &[&Node]) -> usize {
    if counted.spread.topology_key == HOSTNAME {
        return nodes.len();
    }
    let mut seen = vec![false; counted.topology.len() + 1];
    for node in nodes {
        seen[counted.topology.at(node.slot).unwrap_or(counted.topology.len())] = true;
    }
    seen.into_iter().filter(|seen| *seen).count()
}

struct Spreading {
    wishes: Vec<Wish>,
    /// Nodes without the labels, in the order of the nodes.
    ignored: Vec<bool>,
    any_label: bool,
}

struct Wish {
    counted: Counted,
    domains: Vec<Option<i64>>,
    by_node: bool,
    /// Greater for more domains, so that the few pods in each of them aren't outweighed by the many in a few.
    weight: f64,
}

impl PreparedScore for Spreading {
    fn score(&self, node: &Node) -> i64 {
        let mut sum = 0.0;
        for wish in &self.wishes {
            let Some(domain) = wish.counted.topology.at(node.slot) else {
                if self.any_label {
                    continue;
                }
                return 0;
            };
            let pods = match wish.by_node {
                true => wish.counted.at(node.slot),
                false => wish.domains[domain].unwrap_or(0),
            };
            // A greater skew waters the differences down.
            sum += pods as f64 * wish.weight + f64::from(wish.counted.spread.max_skew - 1);
        }
        sum.round() as i64
    }

    fn normalize(&self, scores: &mut [i64]) {
        let counted =
            || scores.iter().zip(&self.ignored).filter(|(_, ignored)| !**ignored).map(|(score, _)| *score);
        let lowest = counted().min().unwrap_or_default();
        let highest = counted().max().unwrap_or_default();
        for (score, ignored) in scores.iter_mut().zip(&self.ignored) {
            *score = match (ignored, highest) {
                (true, _) => 0,
                (false, 0) => MAX_SCORE,
                (false, highest) => MAX_SCORE * (highest + lowest - *score) / highest,
            };
        }
    }
}
