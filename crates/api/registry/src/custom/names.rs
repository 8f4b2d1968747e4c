//! Which names a definition may have: each only if nobody else in its group has it. A decision, nothing else.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::object;

/// The names that the other definitions of a group have.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Plurals, singulars and short names share one space.
    resources: BTreeSet<String>,
    /// So do kinds and kinds of lists.
    kinds: BTreeSet<String>,
}

impl Taken {
    pub(super) fn add(&mut self, accepted: &Value) {
        let text = |field: &str| object::text(accepted, &[field]).to_owned();
        self.resources.extend([text("plural"), text("singular")]);
        self.resources.extend(short_names(accepted).map(str::to_owned));
        self.kinds.extend([text("kind"), text("listKind")]);
    }
}

/// What becomes of the names that a definition asks for.
#[derive(Debug, PartialEq)]
pub(super) struct Accepted {
    pub(super) names: Value,
    /// The reason and the message of the last conflict.
    pub(super) conflict: Option<(&'static str, String)>,
}

pub(super) fn accept(asked: &Value, accepted: &Value, taken: &Taken) -> Accepted {
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
            .filter(|name| !known.contains(name) && used.contains(*name))
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

fn short_names(names: &Value) -> impl Iterator<Item = &str> {
    names.get("shortNames").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests;
