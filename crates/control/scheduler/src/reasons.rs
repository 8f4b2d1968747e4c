//! Why a pod found no node, in the words that people and tools know: `0/3 nodes are available: 1 Insufficient cpu, 2 …`.

use std::collections::BTreeMap;

use crate::plugin::Rejection;

/// What is said when there is not a single node.
pub const NO_NODES: &str = "no nodes available to schedule pods";
pub const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// The longest text that an event holds.
const LONGEST: usize = 1024;

/// `nodes` are those that were looked at; the others are out of the question for one common reason.
pub fn nowhere<'a>(total: usize, nodes: impl Iterator<Item = &'a Rejection>, others: &str) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seen = 0;
    for rejection in nodes {
        seen += 1;
        for reason in rejection.reasons() {
            *counts.entry(reason).or_default() += 1;
        }
    }
    if seen < total && !others.is_empty() {
        *counts.entry(others).or_default() += total - seen;
    }
    let mut lines: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    lines.sort();
    let mut text = format!("0/{total} nodes are available:");
    if !lines.is_empty() {
        text.push(' ');
        text.push_str(&lines.join(", "));
        text.push('.');
    }
    text
}

/// The same when one look was enough for all nodes.
pub fn whole(total: usize, rejection: &Rejection) -> String {
    let reasons: Vec<&str> = rejection.reasons().collect();
    format!("0/{total} nodes are available: {}.", reasons.join(", "))
}

pub fn shortened(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let mut end = LONGEST - 4;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} ...", &text[..end])
}

#[cfg(test)]
mod tests;
