//! A pod stays five minutes on a node that stopped answering, unless it says otherwise.

use kedge_kinds::Status;
use serde_json::{Value, json};

use super::{Operation, Plugin, View};
use crate::object;

const SECONDS: i64 = 300;
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

pub(super) struct DefaultTolerationSeconds;

impl Plugin for DefaultTolerationSeconds {
    fn concerns(&self, view: &View<'_>) -> bool {
        // Also who replaces the list afterwards means to add to it: these may not go.
        matches!(view.operation, Operation::Create | Operation::Update) && view.is("", "Pod")
    }

    fn mutate(
        &self,
        _: &View<'_>,
        pod: &mut Value,
        _: Option<&Value>,
        _: &mut Vec<String>,
    ) -> Result<(), Status> {
        let list = object::map_mut(pod, "spec").entry("tolerations").or_insert_with(|| json!([]));
        let Some(list) = list.as_array_mut() else { return Ok(()) };
        let tolerated = |list: &[Value], taint: &str| {
            list.iter().any(|one| {
                let (key, effect) = (object::text(one, &["key"]), object::text(one, &["effect"]));
                (key == taint || key.is_empty()) && (effect == "NoExecute" || effect.is_empty())
            })
        };
        for taint in TAINTS {
            if !tolerated(list, taint) {
                list.push(json!({
                    "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS,
                }));
            }
        }
        Ok(())
    }
}
