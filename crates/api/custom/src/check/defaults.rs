//! Whether the defaults of a schema fulfil it: an object that somebody left empty must not become a wrong one.

use kedge_kinds::field::{Errors, Path};

use crate::place::Place;
use crate::prune::prune;
use crate::schema::{Schema, is_meta};
use crate::{embedded, rules, validate};

/// What stands in `additionalProperties` is never filled in by itself and is not looked at.
pub(super) fn check(schema: &Schema, path: &Path<'_>, errors: &mut Errors) {
    walk(schema, true, false, path, errors);
}

fn walk(schema: &Schema, whole: bool, within_meta: bool, path: &Path<'_>, errors: &mut Errors) {
    let whole = whole || schema.embedded;
    let within_meta = within_meta && !schema.embedded;
    if let Some(default) = &schema.default {
        let at_default = path.child("default");
        if !within_meta {
            let mut pruned = (**default).clone();
            prune(schema, &mut pruned, schema.embedded);
            if pruned != **default {
                errors.invalid(&at_default, default, "must not have unknown fields");
            }
        }
        let printed = at_default.to_string();
        let before = errors.len();
        embedded::validate(schema, default, &Place::Printed(&printed), errors);
        if errors.len() == before {
            let found = validate::value(schema, default, None, &Place::Root);
            found.faults.iter().for_each(|fault| fault.tell(&printed, errors));
        }
        if errors.len() == before {
            let place = Place::Printed(&printed);
            rules::check(schema, whole, default, Some(default), &place, errors);
            // A rule about changes may speak about new values too.
            if errors.len() == before {
                rules::check(schema, whole, default, None, &place, errors);
            }
        }
    }
    if let Some(items) = &schema.items {
        walk(items, false, within_meta, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        let within_meta = within_meta || (whole && is_meta(name));
        walk(property, false, within_meta, &path.child("properties").key(name), errors);
    }
}
