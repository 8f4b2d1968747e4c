//! Holds a value against a schema: types and the keywords of OpenAPI. Rules in CEL, list types and embedded objects have their
//! own files. The order of complaints, and which of several alternatives is complained about, follow upstream's validator.

mod composite;
mod fault;
mod numbers;
mod types;

use serde_json::{Map, Value};

use crate::correlate::Old;
use crate::place::Place;
use crate::schema::{Additional, Check, Schema};
pub(crate) use fault::Fault;
pub(crate) use numbers::shown as float;

/// What became of holding one value against one schema.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) faults: Vec<Fault>,
    /// How much did fit. Among alternatives that all fail, the one that fits best is complained about.
    matches: usize,
}

impl Found {
    fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    fn fault(&mut self, fault: Fault) {
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn merge(&mut self, other: Found) {
        self.matches += other.matches;
        for fault in other.faults {
            self.fault(fault);
        }
    }
}

/// Everything that is wrong with a value; what was wrong before and did not change is tolerated.
pub(crate) fn value(schema: &Schema, value: &Value, old: Option<Old<'_>>, place: &Place<'_>) -> Found {
    let mut found = one(schema, value, old, place);
    if !found.is_valid() && old.is_some_and(|old| old.equals(value)) {
        found.faults.clear();
    }
    found
}

/// Without tolerance for the value itself, only for its parts.
fn one(schema: &Schema, value: &Value, old: Option<Old<'_>>, place: &Place<'_>) -> Found {
    let mut found = Found::default();
    types::check(schema, value, place, &mut found);
    if value.is_null() {
        enumerated(schema, value, place, &mut found);
        return found;
    }
    found.matches += 2;
    composite::check(schema, value, old, place, &mut found);
    match value {
        Value::String(text) => {
            found.matches += 1;
            texts(schema, text, place, &mut found);
        }
        Value::Number(number) => {
            found.matches += 2;
            numbers::check(schema, number, place, &mut found);
        }
        Value::Array(items) => {
            found.matches += 2;
            list(schema, items, old, place, &mut found);
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
    found.matches += 1;
    enumerated(schema, value, place, &mut found);
    if let Value::Object(fields) = value {
        found.matches += 1;
        object(schema, fields, old, place, &mut found);
    }
    found.matches += 1;
    found
}

/// Of length and pattern only the first complaint counts; the format is asked in any case.
fn texts(schema: &Schema, text: &str, place: &Place<'_>, found: &mut Found) {
    let mut length = None;
    let mut complained = false;
    for check in &schema.checks {
        match check {
            Check::MaxLength(max) if !complained => {
                let length = *length.get_or_insert_with(|| text.chars().count());
                if exceeds(length, *max) {
                    found.fault(Fault::TooLong { at: place.dotted(), max: *max });
                    complained = true;
                }
            }
            Check::MinLength(min) if !complained => {
                let length = *length.get_or_insert_with(|| text.chars().count());
                if falls_short(length, *min) {
                    let said = format!("should be at least {min} chars long");
                    found.fault(Fault::invalid(place, text.into(), &said));
                    complained = true;
                }
            }
            Check::Pattern(pattern) if !complained => match pattern.matches(text) {
                Ok(true) => {}
                Ok(false) => {
                    let said = format!("should match '{}'", pattern.source());
                    found.fault(Fault::invalid(place, text.into(), &said));
                    complained = true;
                }
                Err(why) => {
                    let source = pattern.source();
                    let said = format!("should match '{source}, but pattern is invalid: {why}'");
                    found.fault(Fault::invalid(place, text.into(), &said));
                    complained = true;
                }
            },
            Check::Format(format) if !format.fits(text) => {
                found.fault(Fault::wrong_type(place, format.name(), text));
            }
            _ => {}
        }
    }
}

fn list(schema: &Schema, items: &[Value], old: Option<Old<'_>>, place: &Place<'_>, found: &mut Found) {
    if let Some(each) = &schema.items {
        for (at, item) in items.iter().enumerate() {
            let below = old.and_then(|old| old.item(at, item));
            found.merge(value(each, item, below, &place.item(at)));
        }
    }
    for check in &schema.checks {
        match check {
            Check::MinItems(min) if falls_short(items.len(), *min) => {
                let said = format!("should have at least {min} items");
                found.fault(Fault::invalid(place, items.len().into(), &said));
            }
            Check::MaxItems(max) if exceeds(items.len(), *max) => {
                found.fault(Fault::TooMany { at: place.dotted(), count: items.len(), max: *max });
            }
            Check::UniqueItems
                if items
                    .iter()
                    .enumerate()
                    .any(|(at, item)| items.iter().take(at).any(|other| other == item)) =>
            {
                found.fault(Fault::invalid(place, "".into(), "shouldn't contain duplicates"));
            }
            _ => {}
        }
    }
}

fn object(
    schema: &Schema,
    fields: &Map<String, Value>,
    old: Option<Old<'_>>,
    place: &Place<'_>,
    found: &mut Found,
) {
    for check in &schema.checks {
        match check {
            Check::MinProperties(min) if falls_short(fields.len(), *min) => {
                let said = format!("should have at least {min} properties");
                found.fault(Fault::invalid(place, fields.len().into(), &said));
            }
            Check::MaxProperties(max) if exceeds(fields.len(), *max) => {
                found.fault(Fault::TooMany { at: place.dotted(), count: fields.len(), max: *max });
            }
            _ => {}
        }
    }
    match &schema.additional {
        Additional::Forbidden => {
            for name in fields.keys().filter(|name| schema.property(name).is_none()) {
                let dotted = place.dotted();
                found.fault(Fault::Invalid {
                    message: format!("{dotted}.{name} in body is a forbidden property"),
                    at: dotted,
                    value: name.as_str().into(),
                });
            }
        }
        Additional::Each(each) => {
            for (name, field) in fields.iter().filter(|(name, _)| schema.property(name).is_none()) {
                let below = old.and_then(|old| old.key(name));
                found.merge(value(each, field, below, &place.entry(name)));
            }
        }
        Additional::Unset | Additional::Any => {}
    }
    for (name, property) in &schema.properties {
        if let Some(field) = fields.get(&**name) {
            // The names of the type are those of the request: there is no older version to tolerate.
            let below = old.filter(|_| !is_type_name(place, name)).and_then(|old| old.key(name));
            found.merge(value(property, field, below, &place.field(name)));
        }
    }
    for check in &schema.checks {
        if let Check::Required(names) = check {
            for name in names.iter().filter(|name| !fields.contains_key(&***name)) {
                found.fault(Fault::Required { at: place.field(name).dotted() });
            }
        }
    }
}

fn is_type_name(place: &Place<'_>, name: &str) -> bool {
    matches!(place, Place::Root) && matches!(name, "apiVersion" | "kind")
}

fn enumerated(schema: &Schema, value: &Value, place: &Place<'_>, found: &mut Found) {
    for check in &schema.checks {
        if let Check::Enum(allowed) = check
            && !allowed.iter().any(|one| numbers::alike(one, value))
        {
            let allowed = allowed.iter().map(|one| match one {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            found.fault(Fault::NotSupported {
                at: place.dotted(),
                value: value.clone(),
                allowed: allowed.collect(),
            });
        }
    }
}

fn exceeds(count: usize, max: i64) -> bool {
    i64::try_from(count).is_ok_and(|count| count > max)
}

fn falls_short(count: usize, min: i64) -> bool {
    i64::try_from(count).is_ok_and(|count| count < min)
}

#[cfg(test)]
mod tests;
