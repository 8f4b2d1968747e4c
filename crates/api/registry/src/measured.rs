//! Kinds whose objects are made when somebody asks for them and never stored: how much nodes and pods use. Knows what they look
//! like; measuring is for whoever serves them.

use std::sync::{Arc, LazyLock};

use kedge_kinds::Kind;
use serde_json::{Value, json};

pub const GROUP: &str = "metrics.k8s.io";
const VERSION: &str = "v1beta1";
/// Nothing can be written, and nothing tells of changes.
const VERBS: [&str; 2] = ["get", "list"];

/// In discovery's order.
pub fn kinds() -> &'static [Arc<Kind>] {
    static KINDS: LazyLock<Vec<Arc<Kind>>> = LazyLock::new(|| {
        let usage = json!({
            "description": "How much of each resource was used, on average over the window.",
            "type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true},
        });
        let container = json!({
            "type": "object", "required": ["name", "usage"],
            "properties": {"name": {"type": "string"}, "usage": usage},
        });
        let containers = json!({
            "description": "One entry for each container that runs.", "type": "array", "items": container,
        });
        [
            definition("NodeMetrics", "nodes", "node", "Cluster", "usage", &usage),
            definition("PodMetrics", "pods", "pod", "Namespaced", "containers", &containers),
        ]
        .iter()
        .flat_map(kedge_custom::compile)
        .filter_map(Arc::into_inner)
        .map(|kind| Arc::new(Kind { verbs: VERBS.map(Into::into).into(), ..kind }))
        .collect()
    });
    &KINDS
}

/// Whether it is one of these, and not one that somebody defined under the same name.
pub fn is_measured(kind: &Arc<Kind>) -> bool {
    &*kind.gv.group == GROUP && kinds().iter().any(|own| Arc::ptr_eq(own, kind))
}

fn definition(kind: &str, plural: &str, singular: &str, scope: &str, field: &str, schema: &Value) -> Value {
    let schema = json!({
        "description": format!("{kind} tells how much of its resources is used."),
        "type": "object", "required": ["timestamp", "window", field],
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "timestamp": {"description": "The end of the window.", "type": "string", "format": "date-time"},
            "window": {"description": "The time over which was measured.", "type": "string"},
            field: schema,
        },
    });
    json!({"spec": {
        "group": GROUP, "scope": scope,
        "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
        "versions": [{"name": VERSION, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn can_be_read_and_nothing_else() {
        let told: Vec<String> = kinds()
            .iter()
            .map(|kind| {
                let scope = if kind.namespaced { "in a namespace" } else { "in the cluster" };
                format!("{}/{} {} {scope}: {}", kind.gv, kind.plural, kind.list_kind, kind.verbs.join(","))
            })
            .collect();
        assert_eq!(
            told,
            [
                "metrics.k8s.io/v1beta1/nodes NodeMetricsList in the cluster: get,list",
                "metrics.k8s.io/v1beta1/pods PodMetricsList in a namespace: get,list",
            ]
        );
        assert!(kinds().iter().all(is_measured));
    }
}
