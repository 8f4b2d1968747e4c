//! Paths into objects, as columns, scale, selectable fields and rules name them.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use crate::follow::follow;
use crate::read::text;
use crate::schema::{Schema, Type};

/// A path in dots, only looked at from outside: what it leads to is not asked.
pub(super) fn simple(given: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    let good = given.starts_with('.');
    if !good {
        errors.invalid(path, &given.into(), "must be a simple json path starting with .");
    }
    good
}

/// Fields by which objects can be selected.
pub(super) fn selectable(
    fields: &[Value],
    schema: &Schema,
    before: Option<&[Value]>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    const MOST: usize = 8;
    let mut seen: Vec<String> = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let given = text(field, "jsonPath");
        let item = path.index(at);
        let path = item.child("jsonPath");
        if given.is_empty() {
            errors.required(&path, "");
            continue;
        }
        let (printed, found) = match follow(given, schema, false) {
            Ok(found) => found,
            Err(why) => {
                errors.invalid(&path, &given.into(), &format!("is an invalid path: {why}"));
                continue;
            }
        };
        if printed.split('.').next() == Some("metadata") {
            errors.invalid(&path, &given.into(), "must not point to fields in metadata");
        }
        if !matches!(found.kind, Some(Type::String | Type::Boolean | Type::Integer)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                 with formats are allowed.";
            errors.invalid(&path, &given.into(), detail);
        }
        if seen.contains(&printed) {
            errors.duplicate(&path, &given.into());
        } else {
            seen.push(printed);
        }
    }
    let tolerated = before.is_some_and(|before| before.len() > MOST && before == fields);
    if seen.len() > MOST && !tolerated {
        errors.too_many(path, seen.len(), MOST);
    }
}
