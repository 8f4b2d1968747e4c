//! Taints that people set have no time of their own; they count from when they were first seen, until they are gone.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use parking_lot::Mutex;

use crate::facts::NodeFacts;

#[derive(Default)]
pub(super) struct Undated(Mutex<HashMap<String, Vec<(Taint, Timestamp)>>>);

impl Undated {
    pub(super) fn since(&self, node: &str, taint: &Taint, now: Timestamp) -> Timestamp {
        let mut known = self.0.lock();
        let known = known.entry(node.to_owned()).or_default();
        if let Some((_, since)) = known.iter().find(|(one, _)| one == taint) {
            return *since;
        }
        known.push((taint.clone(), now));
        now
    }

    /// Forgets what the node no longer has, so that it counts anew when it is back.
    pub(super) fn keep_only(&self, name: &str, node: Option<&Node>) {
        let mut known = self.0.lock();
        let Some(taints) = known.get_mut(name) else { return };
        taints.retain(|(taint, _)| node.is_some_and(|node| node.taints().contains(taint)));
        if taints.is_empty() {
            known.remove(name);
        }
    }
}
