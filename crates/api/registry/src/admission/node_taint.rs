//! A new node takes no pods before it is known to be ready. The node controller takes the taint off again.

use kedge_kinds::Status;
use serde_json::{Value, json};

use super::{Plugin, View};
use crate::object;

const KEY: &str = "node.kubernetes.io/not-ready";
const EFFECT: &str = "NoSchedule";

pub(super) struct NewNodesAreNotReady;

impl Plugin for NewNodesAreNotReady {
    fn concerns(&self, view: &View<'_>) -> bool {
        view.creates("", "Node")
    }

    fn mutate(
        &self,
        _: &View<'_>,
        node: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let taints = object::map_mut(node, "spec").entry("taints").or_insert_with(|| json!([]));
        if taints.is_null() {
            *taints = json!([]);
        }
        let Some(taints) = taints.as_array_mut() else { return Ok(()) };
        let is_there = |taint: &Value| {
            (object::text(taint, &["key"]), object::text(taint, &["effect"])) == (KEY, EFFECT)
        };
        if !taints.iter().any(is_there) {
            taints.push(json!({"key": KEY, "effect": EFFECT}));
        }
        Ok(())
    }
}
