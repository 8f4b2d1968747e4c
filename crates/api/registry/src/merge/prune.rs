//! Takes out of a merged object what its applier applied before and applies no longer, unless someone else owns it.
//! Knows sets of fields and no managers by name.

use kedge_kinds::schema::{ListType, Node};
use serde_json::{Map, Value};

use super::element;
use super::fields::{FieldSet, children, is_member, make_member, steps};
use super::owned;
use super::shape::is_one_value;

type Tree = Map<String, Value>;

/// `last` is what the applier owned, `now` what it owns from this apply on.
pub(super) fn prune<'f>(
    node: Node<'_>,
    merged: Value,
    last: &FieldSet,
    now: &FieldSet,
    others: impl Iterator<Item = &'f FieldSet>,
) -> Value {
    let mut given_up = last.clone();
    given_up.subtract(now);
    if given_up.is_empty() {
        return merged;
    }
    let named = |set: &FieldSet| FieldSet::from_tree(with_named_fields(Some(node), set.tree()));
    let last = named(last);
    let present = named(&owned::fields(node, &merged));

    // What stays although the applier's old fields are gone: fields that it never owned…
    let without = removed(Some(node), &merged, last.tree());
    let mut stays = named(&owned::fields(node, &without));
    // …and those that somebody owns now.
    stays.union(named(now));
    for other in others {
        stays.union(named(other));
    }
    let mut goes = present.clone();
    goes.subtract(&stays);
    let pruned = removed(Some(node), &merged, goes.tree());

    // A removal also took what stood below it; only what the applier itself had owned may go.
    let mut goes = present;
    goes.subtract(&named(&owned::fields(node, &pruned)));
    removed(Some(node), &merged, goes.intersection(&last).tree())
}

/// The set with every struct field on the way to a member made a member too.
fn with_named_fields(node: Option<Node<'_>>, tree: &Tree) -> Tree {
    let mut named = Tree::new();
    for (step, below) in steps(tree) {
        let field = step.strip_prefix("f:");
        let next = match field {
            Some(name) => node.and_then(|node| node.key(name)),
            None => node.and_then(|node| node.item()),
        };
        let is_named = field.is_some() && next.is_some() && node.is_some_and(|node| node.object().is_some());
        let mut result = with_named_fields(next, below);
        if is_member(below) || is_named {
            make_member(&mut result);
        }
        named.insert(step.clone(), Value::Object(result));
    }
    named
}

/// The value without the members of a set. Null where nothing is left of a map or list: its owner may still count on
/// the field itself.
fn removed(node: Option<Node<'_>>, value: &Value, set: &Tree) -> Value {
    match value {
        Value::Object(_) if is_one_value(node) => Value::Null,
        Value::Object(fields) => {
            let mut left = Tree::new();
            for (key, value) in fields {
                let step = format!("f:{key}");
                match children(set, &step) {
                    Some(below) if is_member(below) => {}
                    Some(below) => {
                        let next = node.and_then(|node| node.key(key));
                        left.insert(key.clone(), removed(next, value, below));
                    }
                    None => {
                        left.insert(key.clone(), value.clone());
                    }
                }
            }
            if left.is_empty() { Value::Null } else { Value::Object(left) }
        }
        Value::Array(items) => {
            let keyed = node.filter(|node| *node.list_type() != ListType::Atomic);
            let Some(list) = keyed else { return Value::Null };
            let mut left = Vec::with_capacity(items.len());
            for item in items {
                let step = element::step(list, item);
                match step.as_deref().and_then(|step| children(set, step)) {
                    Some(below) if is_member(below) => {}
                    Some(below) => left.push(removed(list.item(), item, below)),
                    None => left.push(item.clone()),
                }
            }
            if left.is_empty() { Value::Null } else { Value::Array(left) }
        }
        scalar => scalar.clone(),
    }
}
