//! A set of field paths, kept in the very form in which `managedFields` carries it (FieldsV1), so that reading and
//! writing it costs nothing. Knows no schema and no object.
//!
//! Every key is one step of a path: `f:name` a field, `k:{…}` an item by its keys, `v:…` an item by its value, `i:1` an
//! item by its place. A step whose value is `{}` is a member of the set; one with further steps below it is a member
//! only if `.` stands among them.

use serde_json::{Map, Value};

type Tree = Map<String, Value>;

const SELF: &str = ".";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet(Tree);

impl FieldSet {
    pub(super) fn from_tree(tree: Tree) -> Self {
        Self(tree)
    }

    /// Reads a set as others wrote it: steps of unknown kinds are left out, keys and values brought to one spelling.
    pub(super) fn decode(tree: Tree) -> Result<Self, BadStep> {
        if is_well_spelt(&tree) { Ok(Self(tree)) } else { respell(&tree).map(Self) }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn union(&mut self, other: FieldSet) {
        union(&mut self.0, other.0);
    }

    /// Takes out the members that `other` has, and no others: what stands below them stays.
    pub(super) fn subtract(&mut self, other: &FieldSet) {
        subtract(&mut self.0, &other.0);
    }

    pub(super) fn intersection(&self, other: &FieldSet) -> FieldSet {
        Self(intersection(&self.0, &other.0))
    }

    /// Whether a set that is written so may have any of these. Cheaper than reading it, and wrong only in saying yes.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        self.0.keys().any(|step| {
            let plain = step.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
            !plain || text.contains(&format!("\"{step}\""))
        })
    }

    /// Takes out a field and everything below it.
    pub(super) fn cut(&mut self, path: &[&str]) {
        cut(&mut self.0, path);
    }

    /// Takes out a field but nothing below it.
    pub(super) fn disown(&mut self, step: &str) {
        let Some(Value::Object(below)) = self.0.get_mut(step) else { return };
        below.remove(SELF);
        if below.is_empty() {
            self.0.remove(step);
        }
    }

    /// All members as paths, those of a level before those below it.
    pub(super) fn paths(&self) -> Vec<Vec<&str>> {
        let mut found = Vec::new();
        collect(&self.0, &mut Vec::new(), &mut found);
        found
    }

    pub(super) fn has(&self, path: &[&str]) -> bool {
        let Some((last, before)) = path.split_last() else { return false };
        let mut tree = &self.0;
        for step in before {
            match children(tree, step) {
                Some(below) => tree = below,
                None => return false,
            }
        }
        children(tree, last).is_some_and(is_member)
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no step of a field path")]
pub(super) struct BadStep(String);

pub(super) fn children<'t>(tree: &'t Tree, step: &str) -> Option<&'t Tree> {
    tree.get(step).and_then(Value::as_object)
}

/// Whether the step above this tree is itself a member.
pub(super) fn is_member(tree: &Tree) -> bool {
    tree.is_empty() || tree.contains_key(SELF)
}

/// Makes the step above this tree a member.
pub(super) fn make_member(tree: &mut Tree) {
    if !tree.is_empty() {
        tree.insert(SELF.to_owned(), Value::Object(Tree::new()));
    }
}

/// Steps below, without the mark for the step itself.
pub(super) fn steps(tree: &Tree) -> impl Iterator<Item = (&String, &Tree)> {
    tree.iter().filter_map(|(step, below)| Some((step, below.as_object()?))).filter(|(step, _)| *step != SELF)
}

fn has_steps(tree: &Tree) -> bool {
    tree.len() > usize::from(tree.contains_key(SELF))
}

fn union(into: &mut Tree, from: Tree) {
    for (step, below) in from {
        if step == SELF {
            continue;
        }
        let Value::Object(below) = below else { continue };
        match into.get_mut(&step) {
            Some(Value::Object(present)) => {
                let member = is_member(present) || is_member(&below);
                union(present, below);
                if member {
                    make_member(present);
                }
            }
            _ => {
                into.insert(step, Value::Object(below));
            }
        }
    }
}

fn subtract(from: &mut Tree, what: &Tree) {
    for (step, gone) in steps(what) {
        let Some(Value::Object(present)) = from.get_mut(step) else { continue };
        let stays = is_member(present) && !is_member(gone);
        present.remove(SELF);
        subtract(present, gone);
        if stays {
            make_member(present);
        } else if present.is_empty() {
            from.remove(step);
        }
    }
}

fn intersection(one: &Tree, other: &Tree) -> Tree {
    let mut both = Tree::new();
    for (step, below) in steps(one) {
        let Some(beside) = children(other, step) else { continue };
        let member = is_member(below) && is_member(beside);
        let mut shared = intersection(below, beside);
        if member {
            make_member(&mut shared);
        }
        if member || !shared.is_empty() {
            both.insert(step.clone(), Value::Object(shared));
        }
    }
    both
}

fn cut(tree: &mut Tree, path: &[&str]) {
    match path {
        [] => {}
        [last] => {
            tree.remove(*last);
        }
        [first, rest @ ..] => {
            let Some(Value::Object(below)) = tree.get_mut(*first) else { return };
            let member = is_member(below);
            cut(below, rest);
            if has_steps(below) {
                return;
            }
            if member {
                below.clear();
            } else {
                tree.remove(*first);
            }
        }
    }
}

fn collect<'t>(tree: &'t Tree, path: &mut Vec<&'t str>, found: &mut Vec<Vec<&'t str>>) {
    for (step, below) in steps(tree) {
        if is_member(below) {
            let mut member = path.clone();
            member.push(step);
            found.push(member);
        }
    }
    for (step, below) in steps(tree) {
        path.push(step);
        collect(below, path, found);
        path.pop();
    }
}

/// Nothing needs to be rewritten: true of everything that we wrote ourselves.
fn is_well_spelt(tree: &Tree) -> bool {
    if tree.len() == 1 && tree.contains_key(SELF) {
        return false;
    }
    tree.iter().all(|(step, below)| {
        let well_spelt = match step.as_bytes() {
            [b'f', b':', ..] => true,
            [b'k' | b'v', b':', rest @ ..] => {
                let plain =
                    !rest.iter().any(|byte| matches!(byte, b',' | b'\\' | b' ' | b'\n' | b'\t' | b'\r'));
                // A single plain key or value has only one spelling.
                if plain {
                    serde_json::from_slice::<serde::de::IgnoredAny>(rest).is_ok()
                } else {
                    serde_json::from_slice::<Value>(rest)
                        .is_ok_and(|value| value.to_string().as_bytes() == rest)
                }
            }
            [b'.'] => true,
            _ => false,
        };
        well_spelt && below.as_object().is_some_and(|below| below.is_empty() || is_well_spelt(below))
    })
}

fn respell(tree: &Tree) -> Result<Tree, BadStep> {
    let mut respelt = Tree::new();
    for (step, below) in tree {
        let below = below.as_object().ok_or_else(|| BadStep(step.clone()))?;
        if step == SELF {
            respelt.insert(step.clone(), Value::Object(Tree::new()));
            continue;
        }
        let Some((kind, rest)) = step.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
            return Err(BadStep(step.clone()));
        };
        let step = match kind {
            "f" => step.clone(),
            "i" if rest.parse::<i64>().is_ok() => step.clone(),
            "k" | "v" => {
                let value: Value = serde_json::from_str(rest).map_err(|_| BadStep(step.clone()))?;
                format!("{kind}:{value}")
            }
            "i" => return Err(BadStep(step.clone())),
            // A later version may know more kinds of steps; what we can't understand we don't keep.
            _ => continue,
        };
        respelt.insert(step, Value::Object(respell(below)?));
    }
    if respelt.len() == 1 && respelt.contains_key(SELF) {
        respelt.clear();
    }
    Ok(respelt)
}

#[cfg(test)]
mod tests;
