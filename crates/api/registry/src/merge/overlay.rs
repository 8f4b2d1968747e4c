//! Lays a part of an object over the whole, as apply would, for writers whose fields nobody keeps account of: policies that
//! change objects. Knows no owner and removes nothing.

use kedge_kinds::schema::{ListType, Node, Place, Shape};
use serde_json::Value;

use super::{check, combine};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverlayError {
    #[error("failed to convert patch object to typed object: {0}")]
    Untyped(String),
    #[error("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {0}")]
    Atomic(String),
}

/// What has no identity of its own can only be replaced as a whole, which who names a part of it did not mean.
pub fn overlay(node: Node<'_>, live: Value, part: &Value) -> Result<Value, OverlayError> {
    if let Some(faults) = check::faults(node, part) {
        return Err(OverlayError::Untyped(faults));
    }
    let mut found = Vec::new();
    atomics(node, part, "", &mut found);
    if !found.is_empty() {
        return Err(OverlayError::Atomic(found.join(", ")));
    }
    Ok(combine::combine(node, live, part))
}

fn atomics(node: Node<'_>, value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if node.is_atomic() {
                found.push(path.to_owned());
            }
            let is_struct = matches!(node.place(), Place::Object(_));
            for (key, value) in fields.iter().filter(|_| is_struct) {
                if let Some(below) = node.key(key) {
                    atomics(below, value, &format!("{path}.{key}"), found);
                }
            }
        }
        Value::Array(items) if matches!(node.place(), Place::Shape(Shape::List(_))) => {
            if *node.list_type() == ListType::Atomic {
                found.push(path.to_owned());
            }
            let Some(below) = node.item() else { return };
            for (i, item) in items.iter().enumerate() {
                atomics(below, item, &format!("{path}[{i}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use kedge_kinds::builtin;
    use serde_json::json;

    use super::overlay;

    #[test]
    fn a_part_is_laid_over_the_whole() {
        let kind = builtin().by_kind("apps", "v1", "Deployment").unwrap();
        let live = json!({"spec": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "a", "image": "x"}, {"name": "b", "image": "y"}
        ]}}}});
        for (case, part, expected) in [
            ("a scalar", json!({"spec": {"replicas": 3}}), r#"3 x y"#),
            (
                "an item by its key",
                json!({"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "z"}]}}}}),
                "1 x z",
            ),
            (
                "an unknown field",
                json!({"spec": {"replicass": 3}}),
                "failed to convert patch object to typed object: .spec.replicass: field not declared in schema",
            ),
            (
                "a part of an atomic list",
                json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "args": ["x"]}]}}}}),
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \
                 .spec.template.spec.containers[0].args",
            ),
        ] {
            let said = match overlay(kind.node().unwrap(), live.clone(), &part) {
                Ok(merged) => {
                    let containers = &merged["spec"]["template"]["spec"]["containers"];
                    let image = |i: usize| containers[i]["image"].as_str().unwrap().to_owned();
                    format!("{} {} {}", merged["spec"]["replicas"], image(0), image(1))
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(said, expected, "{case}");
        }
    }
}
