//! Where a pod may be: its node selector, its required node affinity and what it tolerates, against one node. For whoever
//! asks about few nodes at a time; the scheduler has matchers of its own, made for many.

use k8s_openapi::api::core::v1::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration,
};

/// The only field of a node that a term can ask for.
pub const NAME_FIELD: &str = "metadata.name";

/// Whether the node has everything that the pod's selector and affinity require.
pub fn is_wanted(spec: &PodSpec, node: &Node) -> bool {
    let no_labels = Default::default();
    let labels = node.metadata.labels.as_ref().unwrap_or(&no_labels);
    let mut selected = spec.node_selector.iter().flatten();
    if !selected.all(|(name, value)| labels.get(name) == Some(value)) {
        return false;
    }
    required(spec).is_none_or(|required| required.node_selector_terms.iter().any(|term| meets(node, term)))
}

fn required(spec: &PodSpec) -> Option<&NodeSelector> {
    let node_affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    node_affinity.required_during_scheduling_ignored_during_execution.as_ref()
}

/// A term that asks for nothing is met by nothing.
fn meets(node: &Node, term: &NodeSelectorTerm) -> bool {
    let labels = term.match_expressions.as_deref().unwrap_or_default();
    let fields = term.match_fields.as_deref().unwrap_or_default();
    let label = |name: &str| node.metadata.labels.as_ref()?.get(name).map(String::as_str);
    let field = |name: &str| node.metadata.name.as_deref().filter(|_| name == NAME_FIELD);
    !(labels.is_empty() && fields.is_empty())
        && labels.iter().all(|wanted| has(wanted, label(&wanted.key)))
        && fields.iter().all(|wanted| has(wanted, field(&wanted.key)))
}

fn has(wanted: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let values = wanted.values.as_deref().unwrap_or_default();
    let listed = value.is_some_and(|value| values.iter().any(|one| one == value));
    let numbers = || Some((value?.parse::<i64>().ok()?, values.first()?.parse::<i64>().ok()?));
    match &*wanted.operator {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(has, than)| has > than),
        "Lt" => numbers().is_some_and(|(has, than)| has < than),
        _ => false,
    }
}

/// Whether every taint with one of these effects is tolerated.
pub fn is_tolerated(tolerations: &[Toleration], node: &Node, effects: &[&str]) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    let mut matter = taints.iter().filter(|taint| effects.contains(&&*taint.effect));
    matter.all(|taint| tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// What is left out of a toleration matches everything.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if given(&toleration.effect).is_some_and(|effect| effect != taint.effect)
        || given(&toleration.key).is_some_and(|key| key != taint.key)
    {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "Exists" => true,
        "" | "Equal" => given(&toleration.value) == given(&taint.value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::object;

    fn node() -> Node {
        object(json!({
            "metadata": {"name": "n1", "labels": {"disk": "ssd", "cores": "8"}},
            "spec": {"taints": [
                {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
                {"key": "broken", "effect": "NoExecute"},
                {"key": "slow", "effect": "PreferNoSchedule"},
            ]},
        }))
    }

    #[test]
    fn a_node_is_wanted_for_its_labels_and_its_name() {
        let required = |terms: Value| {
            json!({"containers": [], "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
            }}})
        };
        let label = |key: &str, operator: &str, values: &[&str]| {
            required(json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]))
        };
        for (case, spec, expected) in [
            ("nothing is asked", json!({"containers": []}), true),
            ("its label", json!({"containers": [], "nodeSelector": {"disk": "ssd"}}), true),
            ("another label", json!({"containers": [], "nodeSelector": {"disk": "hdd"}}), false),
            ("one of several", label("disk", "In", &["hdd", "ssd"]), true),
            ("none of several", label("disk", "NotIn", &["ssd"]), false),
            ("a label that it lacks is not in", label("zone", "NotIn", &["a"]), true),
            ("any value", label("disk", "Exists", &[]), true),
            ("no value", label("zone", "DoesNotExist", &[]), true),
            ("more", label("cores", "Gt", &["4"]), true),
            ("not less", label("cores", "Lt", &["4"]), false),
            ("no number", label("disk", "Gt", &["4"]), false),
            ("no term at all", required(json!([])), false),
            ("an empty term", required(json!([{}])), false),
            (
                "either term is enough",
                required(json!([{}, {"matchFields": [
                    {"key": "metadata.name", "operator": "In", "values": ["n1"]},
                ]}])),
                true,
            ),
            (
                "all of a term is needed",
                required(json!([{
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
                    "matchExpressions": [{"key": "zone", "operator": "Exists"}],
                }])),
                false,
            ),
        ] {
            let spec: PodSpec = serde_json::from_value(spec).unwrap();
            assert_eq!(is_wanted(&spec, &node()), expected, "{case}");
        }
    }

    #[test]
    fn a_taint_is_tolerated_by_key_value_and_effect() {
        for (case, tolerations, effects, expected) in [
            ("nothing", json!([]), vec!["NoSchedule"], false),
            ("effects that nobody asks for", json!([]), vec!["Other"], true),
            ("everything", json!([{"operator": "Exists"}]), vec!["NoSchedule", "NoExecute"], true),
            ("its value", json!([{"key": "dedicated", "value": "db"}]), vec!["NoSchedule"], true),
            ("another value", json!([{"key": "dedicated", "value": "web"}]), vec!["NoSchedule"], false),
            ("no value", json!([{"key": "broken"}]), vec!["NoExecute"], true),
            (
                "another effect",
                json!([{"key": "broken", "operator": "Exists", "effect": "NoSchedule"}]),
                vec!["NoExecute"],
                false,
            ),
            ("one of two", json!([{"key": "broken"}]), vec!["NoSchedule", "NoExecute"], false),
        ] {
            let tolerations: Vec<Toleration> = serde_json::from_value(tolerations).unwrap();
            assert_eq!(is_tolerated(&tolerations, &node(), &effects), expected, "{case}");
        }
    }
}
