//! What a list or watch asks for: labels, fields, one name. What it needs of an object is read out of its bytes once
//! and remembered with the entry.

mod traits;

use kedge_kinds::selector::{FieldSelector, LabelSelector};
use kedge_kinds::{Kind, Status};
use kedge_store::Entry;

use self::traits::Traits;
use crate::key;
use crate::strategies::strategy;
use crate::strategy::Selectable;

/// Parsed and checked against what the kind lets one ask for.
#[derive(Debug)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: Vec<Term>,
    selectable: &'static [Selectable],
    prefix_and_scope: Place,
}

/// How keys of the kind are read.
#[derive(Debug)]
struct Place {
    skip: usize,
    namespaced: bool,
}

/// One condition on a field.
#[derive(Debug)]
struct Term {
    field: Asked,
    value: String,
    equal: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Name,
    Namespace,
    /// The place among the kind's selectable fields.
    Own(usize),
}

impl Selection {
    /// `name`: of a request that points at one object.
    pub(crate) fn parse(kind: &Kind, name: Option<&str>, labels: &str, fields: &str) -> Result<Self, Status> {
        let selectable = strategy(kind).selectable();
        let labels = LabelSelector::parse(labels).map_err(|wrong| Status::bad_request(wrong.to_string()))?;
        let mut terms = Vec::new();
        let fields = FieldSelector::parse(fields).map_err(|wrong| Status::bad_request(wrong.to_string()))?;
        for term in fields.terms {
            let field = match &*term.field {
                "metadata.name" => Asked::Name,
                "metadata.namespace" => Asked::Namespace,
                other => match selectable.iter().position(|one| one.field == other) {
                    Some(at) => Asked::Own(at),
                    None => return Err(unknown(other, selectable)),
                },
            };
            terms.push(Term { field, value: term.value.to_string(), equal: term.equal });
        }
        if let Some(name) = name {
            terms.push(Term { field: Asked::Name, value: name.to_owned(), equal: true });
        }
        let place = Place { skip: key::prefix(kind, None).len(), namespaced: kind.namespaced };
        Ok(Self { labels, fields: terms, selectable, prefix_and_scope: place })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.fields.is_empty() && self.labels.is_everything()
    }

    /// The one name that can match, if there is only one.
    pub(crate) fn only_name(&self) -> Option<&str> {
        self.fields
            .iter()
            .find(|term| term.field == Asked::Name && term.equal)
            .map(|term| term.value.as_str())
    }

    pub(crate) fn takes(&self, key: &str, entry: &Entry) -> bool {
        if self.is_everything() {
            return true;
        }
        // Names stand in the key; only what goes beyond them is worth reading the object for.
        let rest = key.get(self.prefix_and_scope.skip..).unwrap_or_default();
        let (namespace, name) = match rest.split_once('/') {
            Some((namespace, name)) if self.prefix_and_scope.namespaced => (namespace, name),
            _ => ("", rest),
        };
        let by_key = self.fields.iter().all(|term| match term.field {
            Asked::Name => (name == term.value) == term.equal,
            Asked::Namespace => (namespace == term.value) == term.equal,
            Asked::Own(_) => true,
        });
        if !by_key {
            return false;
        }
        let own = self.fields.iter().any(|term| matches!(term.field, Asked::Own(_)));
        if !own && self.labels.is_everything() {
            return true;
        }
        let traits = entry.memo(|bytes| Traits::read(bytes, self.selectable));
        self.labels.matches(|key| traits.label(key))
            && self.fields.iter().all(|term| match term.field {
                Asked::Own(at) => (traits.field(at) == term.value) == term.equal,
                Asked::Name | Asked::Namespace => true,
            })
    }
}

/// Whether a stored object of this kind is being deleted, without reading it twice.
pub(crate) fn is_deleting(kind: &Kind, entry: &Entry) -> bool {
    entry.memo(|bytes| Traits::read(bytes, strategy(kind).selectable())).deleting
}

/// A kind with fields of its own has its own words for one that it doesn't have.
fn unknown(field: &str, selectable: &[Selectable]) -> Status {
    Status::bad_request(match selectable.is_empty() {
        true => {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
        false => format!("field label not supported: {field}"),
    })
}

#[cfg(test)]
mod tests;
