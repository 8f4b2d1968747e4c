//! The fields that an applied configuration names: what its manager will own. Knows no other manager.

use kedge_kinds::schema::{ListType, Node};
use serde_json::{Map, Value};

use super::element;
use super::fields::{FieldSet, make_member};
use super::shape::is_one_value;

type Tree = Map<String, Value>;

pub(super) fn fields(node: Node<'_>, object: &Value) -> FieldSet {
    FieldSet::from_tree(walk(Some(node), object).unwrap_or_default())
}

/// `None`: nothing below is owned. An empty tree: the position itself is. Without a node the schema says nothing.
fn walk(node: Option<Node<'_>>, value: &Value) -> Option<Tree> {
    if is_one_value(node) {
        return Some(Tree::new());
    }
    match value {
        Value::Object(fields) => {
            let mut tree = Tree::new();
            for (key, value) in fields {
                let below = node.and_then(|node| node.key(key));
                let mut owned = walk(below, value);
                let declared = below.is_some_and(|below| below.entered_by().is_some());
                let is_struct_field = declared && node.is_some_and(|node| node.object().is_some());
                let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if is_empty || !is_struct_field {
                    make_member(owned.get_or_insert_with(Tree::new));
                }
                if let Some(owned) = owned {
                    tree.insert(format!("f:{key}"), Value::Object(owned));
                }
            }
            (!tree.is_empty()).then_some(tree)
        }
        Value::Array(items) => {
            let keyed = node.filter(|node| *node.list_type() != ListType::Atomic);
            let Some(list) = keyed else { return Some(Tree::new()) };
            let mut tree = Tree::new();
            for item in items {
                let Some(step) = element::step(list, item) else { continue };
                // Items that share their key can only be owned together.
                let owned = if tree.contains_key(&step) {
                    Tree::new()
                } else {
                    let mut owned = walk(list.item(), item).unwrap_or_default();
                    make_member(&mut owned);
                    owned
                };
                tree.insert(step, Value::Object(owned));
            }
            (!tree.is_empty()).then_some(tree)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(Tree::new()),
    }
}
