//! Which fields differ between two objects, as sets of paths. Knows no manager and changes no object.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kedge_kinds::schema::{Field, ListType, Node, Shape, Zero};
use serde_json::{Map, Value};

use super::element;
use super::fields::{FieldSet, make_member};
use super::shape::{is_custom, is_one_value};

type Tree = Map<String, Value>;

/// What a write did to an object.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Added, or there before with another value.
    pub(super) changed: FieldSet,
    pub(super) removed: FieldSet,
}

impl Difference {
    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Compares two objects of one kind. No old object means one that was just made: it has what an empty struct has.
pub(super) fn compare(node: Node<'_>, old: Option<&Value>, new: &Value) -> Difference {
    let part = walk(Some(node), Some(old.unwrap_or(&EMPTY_STRUCT)), Some(new));
    Difference {
        changed: FieldSet::from_tree(part.changed.unwrap_or_default()),
        removed: FieldSet::from_tree(part.removed.unwrap_or_default()),
    }
}

/// The subtrees of one position in the two sets; an empty tree means that the position itself is a member.
#[derive(Default)]
struct Part {
    changed: Option<Tree>,
    removed: Option<Tree>,
}

impl Part {
    fn leaf(old: Option<&Value>, new: Option<&Value>) -> Self {
        let member = || Some(Tree::new());
        match (old, new) {
            (Some(old), Some(new)) if old == new => Self::default(),
            (_, Some(_)) => Self { changed: member(), removed: None },
            (Some(_), None) => Self { changed: None, removed: member() },
            (None, None) => Self::default(),
        }
    }

    fn add(&mut self, step: impl FnOnce() -> String, child: Part) {
        match (child.changed, child.removed) {
            (None, None) => {}
            (Some(changed), None) => put(&mut self.changed, step(), changed),
            (None, Some(removed)) => put(&mut self.removed, step(), removed),
            (Some(changed), Some(removed)) => {
                let step = step();
                put(&mut self.changed, step.clone(), changed);
                put(&mut self.removed, step, removed);
            }
        }
    }

    /// A position that came or went as a whole is a member beside what stands below it.
    fn with_itself(mut self, old: Option<&Value>, new: Option<&Value>) -> Self {
        match (old, new) {
            (None, Some(_)) => make_member(self.changed.get_or_insert_with(Tree::new)),
            (Some(_), None) => make_member(self.removed.get_or_insert_with(Tree::new)),
            _ => {}
        }
        self
    }
}

fn field_step(name: &str) -> String {
    let mut step = String::with_capacity(name.len() + 2);
    step.push_str("f:");
    step.push_str(name);
    step
}

fn put(tree: &mut Option<Tree>, step: String, below: Tree) {
    tree.get_or_insert_with(Tree::new).insert(step, Value::Object(below));
}

/// Without a node the schema says nothing: maps are walked, lists are one value.
fn walk(node: Option<Node<'_>>, old: Option<&Value>, new: Option<&Value>) -> Part {
    let old = old.filter(|value| !value.is_null() || is_written_as_null(node));
    let new = match (old, new) {
        // A map or list of which an apply took everything: what was in it is gone, the field itself is not.
        (Some(Value::Object(_)), Some(Value::Null)) => Some(&*EMPTY_STRUCT),
        (Some(Value::Array(_)), Some(Value::Null)) => Some(&EMPTY_LIST),
        (_, new) => new.filter(|value| !value.is_null() || is_written_as_null(node)),
    };
    let old = match (old, new) {
        // The field was there before there was anything in it.
        (Some(Value::Null), Some(Value::Object(_))) => Some(&*EMPTY_STRUCT),
        (Some(Value::Null), Some(Value::Array(_))) => Some(&EMPTY_LIST),
        (old, _) => old,
    };
    if is_one_value(node) {
        return Part::leaf(old, new);
    }
    match (old, new) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            maps(node, Some(before), Some(after), old, new)
        }
        (Some(Value::Object(before)), None) => maps(node, Some(before), None, old, new),
        (None, Some(Value::Object(after))) => maps(node, None, Some(after), old, new),
        (Some(Value::Array(before)), Some(Value::Array(after))) => lists(node, before, after, old, new),
        (Some(Value::Array(before)), None) => lists(node, before, &[], old, new),
        (None, Some(Value::Array(after))) => lists(node, &[], after, old, new),
        _ => Part::leaf(old, new),
    }
}

fn maps(
    node: Option<Node<'_>>,
    before: Option<&Tree>,
    after: Option<&Tree>,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Part {
    static NO_FIELDS: LazyLock<Tree> = LazyLock::new(Tree::new);
    if before.is_none_or(Tree::is_empty) && after.is_none_or(Tree::is_empty) {
        return Part::leaf(old, new);
    }
    // What an absent struct "would have" only counts beside one that is there.
    let both = before.is_some() && after.is_some();
    let mut part = Part::default();
    let mut befores = before.unwrap_or(&NO_FIELDS).iter().peekable();
    let mut afters = after.unwrap_or(&NO_FIELDS).iter().peekable();
    loop {
        let (key, was, is) = match (befores.peek(), afters.peek()) {
            (None, None) => break,
            (Some(&(key, was)), None) => (key, Some(was), None),
            (None, Some(&(key, is))) => (key, None, Some(is)),
            (Some(&(key, was)), Some(&(other, is))) => match key.cmp(other) {
                std::cmp::Ordering::Less => (key, Some(was), None),
                std::cmp::Ordering::Greater => (other, None, Some(is)),
                std::cmp::Ordering::Equal => (key, Some(was), Some(is)),
            },
        };
        if was.is_some() {
            befores.next();
        }
        if is.is_some() {
            afters.next();
        }
        // Most of a changed object is as it was; seeing that is cheaper than walking it with its schema.
        if was.is_some() && was == is {
            continue;
        }
        let below = node.and_then(|node| node.key(key));
        let one_sided = both && (was.is_none() || is.is_none());
        let field = below.filter(|_| one_sided).and_then(|below| below.entered_by());
        let unwritten = field.zip(was.or(is)).and_then(|(field, present)| unwritten(field, present));
        part.add(|| field_step(key), walk(below, was.or(unwritten), is.or(unwritten)));
    }
    part.with_itself(old, new)
}

fn lists(
    node: Option<Node<'_>>,
    before: &[Value],
    after: &[Value],
    old: Option<&Value>,
    new: Option<&Value>,
) -> Part {
    let keyed = node.filter(|node| *node.list_type() != ListType::Atomic);
    let Some(list) = keyed else { return Part::leaf(old, new) };
    if before.is_empty() && after.is_empty() {
        return Part::leaf(old, new);
    }
    if old.is_some() && new.is_some() && before == after {
        return Part::default();
    }
    if before.is_empty() || after.is_empty() {
        return one_sided(list, before, after).with_itself(old, new);
    }
    let mut items: BTreeMap<String, Pair<'_>> = BTreeMap::new();
    for item in before {
        if let Some(step) = element::step(list, item) {
            items.entry(step).or_default().before.push(item);
        }
    }
    for item in after {
        if let Some(step) = element::step(list, item) {
            items.entry(step).or_default().after.push(item);
        }
    }
    let mut part = Part::default();
    for (step, pair) in items {
        let below = pair.compare(list.item());
        part.add(|| step, below);
    }
    part.with_itself(old, new)
}

/// A list that came or went, or was filled or emptied: the usual case of a new object.
fn one_sided(list: Node<'_>, before: &[Value], after: &[Value]) -> Part {
    let mut tree = Tree::new();
    for item in before.iter().chain(after) {
        let Some(step) = element::step(list, item) else { continue };
        let below = if tree.contains_key(&step) {
            Tree::new()
        } else {
            let part = if before.is_empty() {
                walk(list.item(), None, Some(item)).changed
            } else {
                walk(list.item(), Some(item), None).removed
            };
            part.unwrap_or_default()
        };
        tree.insert(step, Value::Object(below));
    }
    if before.is_empty() {
        Part { changed: Some(tree), removed: None }
    } else {
        Part { changed: None, removed: Some(tree) }
    }
}

/// The items of both lists under one key; more than one is a duplicate, which is compared as one value.
#[derive(Default)]
struct Pair<'v> {
    before: Vec<&'v Value>,
    after: Vec<&'v Value>,
}

impl Pair<'_> {
    fn compare(&self, item: Option<Node<'_>>) -> Part {
        match (&self.before[..], &self.after[..]) {
            ([] | [_], [] | [_]) => walk(item, self.before.first().copied(), self.after.first().copied()),
            ([_, _, ..], [_, _, ..]) if self.before == self.after => Part::default(),
            ([_, _, ..], [_, _, ..]) => Part { changed: Some(Tree::new()), removed: None },
            ([_, _, ..], after) => {
                let mut part = walk(item, None, after.first().copied());
                make_member(part.removed.get_or_insert_with(Tree::new));
                part
            }
            (before, _) => {
                let mut part = walk(item, before.first().copied(), None);
                make_member(part.changed.get_or_insert_with(Tree::new));
                part
            }
        }
    }
}

static EMPTY_STRUCT: LazyLock<Value> = LazyLock::new(|| Value::Object(Tree::new()));
static NOTHING: Value = Value::Null;
static EMPTY_LIST: Value = Value::Array(Vec::new());
static EMPTY_TEXT: Value = Value::String(String::new());
static FALSE: Value = Value::Bool(false);
static ZERO: LazyLock<Value> = LazyLock::new(|| Value::from(0));

/// A time, list or map that Kubernetes writes even if there is none; whoever writes the object owns that too. So is any null
/// of a custom kind: where it is no value its definition took it out.
fn is_written_as_null(node: Option<Node<'_>>) -> bool {
    if node.is_some_and(is_custom) {
        return true;
    }
    let field = node.and_then(|node| node.entered_by());
    field.is_some_and(|field| {
        let by_null = matches!(field.shape, Shape::Time | Shape::MicroTime | Shape::List(_) | Shape::Map(_));
        field.zero == Zero::Write && by_null
    })
}

/// What Kubernetes writes for a field that was never set, if it writes it nevertheless: such a field is never "added",
/// so nobody comes to own it by making its parent.
fn unwritten(field: &Field, present: &Value) -> Option<&'static Value> {
    if field.zero != Zero::Write {
        return None;
    }
    match &field.shape {
        Shape::Object(_) => Some(&EMPTY_STRUCT),
        // They are written as null, and an empty list or map is more than that.
        Shape::Map(_) if present.as_object().is_some_and(Tree::is_empty) => None,
        Shape::List(_) if present.as_array().is_some_and(Vec::is_empty) => None,
        Shape::Map(_) => Some(&EMPTY_STRUCT),
        Shape::List(_) => Some(&EMPTY_LIST),
        Shape::String => Some(&EMPTY_TEXT),
        Shape::Bool => Some(&FALSE),
        Shape::Int32 | Shape::Int64 => Some(&ZERO),
        Shape::Time | Shape::MicroTime => Some(&NOTHING),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
