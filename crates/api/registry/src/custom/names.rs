//! Which names a definition may have: each only if nobody else in its group has it. A decision, nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::object;

/// The names that the definitions of a group have, and which of them has each.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Plurals, singulars and short names share one space.
    resources: Owners,
    /// So do kinds and kinds of lists.
    kinds: Owners,
    by_owner: HashMap<Arc<str>, Value>,
}

/// A name belongs to one definition; to several only where two servers accepted them at the same moment.
type Owners = HashMap<String, Vec<Arc<str>>>;

impl Taken {
    /// Gives a definition these names instead of those that it had. True if they are others.
    pub(super) fn give(&mut self, owner: &Arc<str>, accepted: &Value) -> bool {
        if self.by_owner.get(owner) == Some(accepted) {
            return false;
        }
        self.release(owner);
        for (owners, fields) in self.spaces() {
            for name in fields.iter().flat_map(|field| values(accepted, field)) {
                owners.entry(name.to_owned()).or_default().push(owner.clone());
            }
        }
        self.by_owner.insert(owner.clone(), accepted.clone());
        true
    }

    /// True if it had any.
    pub(super) fn release(&mut self, owner: &str) -> bool {
        let Some(accepted) = self.by_owner.remove(owner) else { return false };
        for (owners, fields) in self.spaces() {
            for name in fields.iter().flat_map(|field| values(&accepted, field)) {
                if let Some(those) = owners.get_mut(name) {
                    those.retain(|one| **one != *owner);
                    if those.is_empty() {
                        owners.remove(name);
                    }
                }
            }
        }
        true
    }

    fn spaces(&mut self) -> [(&mut Owners, &'static [&'static str]); 2] {
        [
            (&mut self.resources, &["plural", "singular", "shortNames"]),
            (&mut self.kinds, &["kind", "listKind"]),
        ]
    }

    pub(super) fn knows(&self, owner: &str) -> bool {
        self.by_owner.contains_key(owner)
    }

    pub(super) fn owners(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_owner.keys()
    }

    fn has(owners: &Owners, name: &str, but: &str) -> bool {
        owners.get(name).is_some_and(|those| those.iter().any(|one| **one != *but))
    }
}

/// What becomes of the names that a definition asks for.
#[derive(Debug, PartialEq)]
pub(super) struct Accepted {
    pub(super) names: Value,
    /// The reason and the message of the last conflict.
    pub(super) conflict: Option<(&'static str, String)>,
}

/// `owner` is the definition that asks.
pub(super) fn accept(asked: &Value, accepted: &Value, taken: &Taken, owner: &str) -> Accepted {
    let mut names = accepted.as_object().cloned().unwrap_or_default();
    let mut conflict = None;
    for (field, used, reason) in [
        ("plural", &taken.resources, "PluralConflict"),
        ("singular", &taken.resources, "SingularConflict"),
        ("shortNames", &taken.resources, "ShortNamesConflict"),
        ("kind", &taken.kinds, "KindConflict"),
        ("listKind", &taken.kinds, "ListKindConflict"),
    ] {
        let known: Vec<&str> = values(accepted, field);
        let clashes: Vec<String> = values(asked, field)
            .into_iter()
            .filter(|name| !known.contains(name) && Taken::has(used, name, owner))
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        match clashes.as_slice() {
            [] => take(&mut names, asked, field),
            [one] => conflict = Some((reason, one.clone())),
            many => conflict = Some((reason, format!("[{}]", many.join(", ")))),
        }
    }
    take(&mut names, asked, "categories");
    Accepted { names: Value::Object(names), conflict }
}

fn take(names: &mut Map<String, Value>, asked: &Value, field: &str) {
    object::carry(names, asked.get(field), field);
}

/// One name, or several where the field is a list.
fn values<'v>(names: &'v Value, field: &str) -> Vec<&'v str> {
    match names.get(field) {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
