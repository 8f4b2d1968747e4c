//! `anyOf`, `oneOf`, `allOf` and `not`.

use serde_json::Value;

use super::{Fault, Found, one};
use crate::correlate::Old;
use crate::place::Place;
use crate::schema::{Check, Schema};

pub(super) fn check(
    schema: &Schema,
    value: &Value,
    old: Option<Old<'_>>,
    place: &Place<'_>,
    found: &mut Found,
) {
    let against = |schema: &Schema| one(schema, value, old, place);
    for check in &schema.checks {
        match check {
            Check::AnyOf(schemas) => any_of(schemas, against, place, found),
            Check::OneOf(schemas) => one_of(schemas, against, place, found),
            Check::AllOf(schemas) => all_of(schemas, against, place, found),
            Check::Not(schema) => {
                if against(schema).is_valid() {
                    found.fault(said(place, "must not validate the schema (not)"));
                }
            }
            // These four come first.
            _ => break,
        }
    }
    found.matches += 1;
}

fn said(place: &Place<'_>, what: &str) -> Fault {
    Fault::Whole { message: format!("{:?} {what}", place.dotted()) }
}

fn any_of(schemas: &[Schema], against: impl Fn(&Schema) -> Found, place: &Place<'_>, found: &mut Found) {
    let mut best: Option<Found> = None;
    for schema in schemas {
        let result = against(schema);
        if result.is_valid() {
            return found.merge(result);
        }
        if best.as_ref().is_none_or(|best| result.matches > best.matches) {
            best = Some(result);
        }
    }
    found.fault(said(place, "must validate at least one schema (anyOf)"));
    found.merge(best.unwrap_or_default());
}

fn one_of(schemas: &[Schema], against: impl Fn(&Schema) -> Found, place: &Place<'_>, found: &mut Found) {
    let (mut valid, mut first, mut best) = (0, None, None::<Found>);
    for schema in schemas {
        let result = against(schema);
        if result.is_valid() {
            valid += 1;
            best = None;
            first.get_or_insert(result);
        } else if valid == 0 && best.as_ref().is_none_or(|best| result.matches > best.matches) {
            best = Some(result);
        }
    }
    let extent = match valid {
        1 => return found.merge(first.unwrap_or_default()),
        0 => "Found none valid".to_owned(),
        several => format!("Found {several} valid alternatives"),
    };
    found.fault(said(place, &format!("must validate one and only one schema (oneOf). {extent}")));
    found.merge(best.unwrap_or_default());
}

fn all_of(schemas: &[Schema], against: impl Fn(&Schema) -> Found, place: &Place<'_>, found: &mut Found) {
    let mut valid = 0;
    for schema in schemas {
        let result = against(schema);
        valid += usize::from(result.is_valid());
        found.merge(result);
    }
    if valid < schemas.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        found.fault(said(place, &format!("must validate all the schemas (allOf){none}")));
    }
}
