//! What a list or watch asks for: labels, fields, one name. What it needs of an object is read out of its bytes once
//! and remembered with the entry.

mod traits;

use std::sync::Arc;

use kedge_kinds::selector::{FieldSelector, LabelSelector};
use kedge_kinds::{Kind, Status};
use kedge_store::Entry;
use serde_json::Value;

use self::traits::Traits;
use crate::registry::{parse, parse_bytes};
use crate::strategies::strategy;
use crate::strategy::Selectable;
use crate::{convert, custom, key};

/// Parsed and checked against what the kind lets one ask for.
#[derive(Debug)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: Vec<Term>,
    selectable: &'static [Selectable],
    /// A custom kind, whose fields are read anew each time: its definition may name others tomorrow.
    custom: Option<Arc<Kind>>,
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
    /// The same of a custom kind.
    Defined(usize),
}

impl Selection {
    /// `name`: of a request that points at one object.
    pub(crate) fn parse(
        kind: &Arc<Kind>,
        name: Option<&str>,
        labels: &str,
        fields: &str,
    ) -> Result<Self, Status> {
        let selectable = strategy(kind).selectable();
        let defined = kind.rules.as_ref().map_or(&[][..], |rules| rules.selectable());
        let labels = LabelSelector::parse(labels).map_err(|wrong| Status::bad_request(wrong.to_string()))?;
        let mut terms = Vec::new();
        let fields = FieldSelector::parse(fields).map_err(|wrong| Status::bad_request(wrong.to_string()))?;
        for term in fields.terms {
            let field = match &*term.field {
                "metadata.name" => Asked::Name,
                "metadata.namespace" => Asked::Namespace,
                other => {
                    let stored = convert::stored_field(kind, other);
                    let own = stored.and_then(|field| selectable.iter().position(|one| one.field == field));
                    let own = own.map(Asked::Own);
                    let defined = || defined.iter().position(|field| **field == *other).map(Asked::Defined);
                    let known = own.or_else(defined);
                    known.ok_or_else(|| unknown(other, !selectable.is_empty() || kind.rules.is_some()))?
                }
            };
            terms.push(Term { field, value: term.value.to_string(), equal: term.equal });
        }
        if let Some(name) = name {
            terms.push(Term { field: Asked::Name, value: name.to_owned(), equal: true });
        }
        let place = Place { skip: key::prefix(kind, None).len(), namespaced: kind.namespaced };
        let custom = terms.iter().any(|term| matches!(term.field, Asked::Defined(_))).then(|| kind.clone());
        Ok(Self { labels, fields: terms, selectable, custom, prefix_and_scope: place })
    }

    /// Whether it asks for fields that only the form of the asked version has, which somebody outside makes: `takes` then says what may
    /// be chosen, `takes_form` what is.
    pub(crate) fn is_by_form(&self) -> bool {
        self.custom.as_deref().is_some_and(custom::is_remote)
    }

    pub(crate) fn takes_form(&self, served: &[u8]) -> bool {
        match &self.custom {
            Some(kind) if self.is_by_form() => {
                parse_bytes(served).is_ok_and(|object| self.fields_hold(kind, object))
            }
            _ => true,
        }
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
            Asked::Own(_) | Asked::Defined(_) => true,
        });
        if !by_key {
            return false;
        }
        let own = self.fields.iter().any(|term| matches!(term.field, Asked::Own(_)));
        if !self.defined(entry) {
            return false;
        }
        if !own && self.labels.is_everything() {
            return true;
        }
        Traits::of(entry, self.selectable, |traits| {
            self.labels.matches(|key| traits.label(key))
                && self.fields.iter().all(|term| match term.field {
                    Asked::Own(at) => (self.value(traits, at) == term.value) == term.equal,
                    Asked::Name | Asked::Namespace | Asked::Defined(_) => true,
                })
        })
    }

    /// What stands in a field; in the first of its places that is filled, where it has several.
    fn value<'t>(&self, traits: &'t Traits, at: usize) -> &'t str {
        let name = self.selectable.get(at).map(|one| one.field);
        let places =
            self.selectable.iter().enumerate().skip(at).take_while(|(_, one)| Some(one.field) == name);
        places.map(|(at, _)| traits.field(at)).find(|value| !value.is_empty()).unwrap_or_default()
    }

    /// Whether the fields of a custom kind have the values that were asked for.
    fn defined(&self, entry: &Entry) -> bool {
        match &self.custom {
            Some(kind) if !self.is_by_form() => {
                parse(entry).is_ok_and(|object| self.fields_hold(kind, object))
            }
            _ => true,
        }
    }

    fn fields_hold(&self, kind: &Kind, mut object: Value) -> bool {
        let Some(rules) = &kind.rules else { return true };
        rules.default(&mut object);
        self.fields.iter().all(|term| match term.field {
            Asked::Defined(at) => {
                let field = rules.selectable().get(at).map_or("", |field| field);
                (value(&object, field) == term.value) == term.equal
            }
            _ => true,
        })
    }
}

/// Whether a stored object of this kind is being deleted, without reading it twice.
pub(crate) fn is_deleting(kind: &Kind, entry: &Entry) -> bool {
    Traits::of(entry, strategy(kind).selectable(), |traits| traits.deleting)
}

/// What stands at `spec.colour`, as a selector compares it.
fn value(object: &Value, field: &str) -> String {
    match field.split('.').try_fold(object, |value, key| value.get(key)) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A kind with fields of its own has its own words for one that it doesn't have.
fn unknown(field: &str, has_fields: bool) -> Status {
    Status::bad_request(match !has_fields {
        true => {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
        false => format!("field label not supported: {field}"),
    })
}

#[cfg(test)]
mod tests;
