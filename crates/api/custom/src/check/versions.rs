//! The versions of a definition, each by itself and all together.

use kedge_kinds::field::{Errors, Path};
use serde_json::Value;

use super::{names, paths, schema, shown};
use crate::read::{at, flag, has, list, schema_of, text};
use crate::schema::Schema;

const COLUMN_TYPES: &str = "boolean,date,integer,number,string";
const COLUMN_FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";

/// What all versions have in common and upstream therefore holds at the top.
pub(super) struct Common {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Common {
    pub(super) fn of(versions: &[Value]) -> Self {
        let same = |field: &str| {
            versions.windows(2).all(|pair| match pair {
                [one, other] => at(one, field) == at(other, field),
                _ => true,
            })
        };
        Self {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        }
    }
}

pub(super) fn each(
    versions: &[Value],
    common: &Common,
    old: Option<&Value>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    for (at, version) in versions.iter().enumerate() {
        let path = path.index(at);
        names::label(text(version, "name"), &path.child("name"), errors);
        deprecation(version, &path.child("deprecationWarning"), errors);
        let before = before(version, old);
        if !common.schema {
            let keeps_status = has_status(version);
            schema::check(version, before, keeps_status, &path.child("schema"), errors);
        }
        if !common.subresources {
            subresources(version, &path.child("subresources"), errors);
        }
        if !common.columns {
            columns(version, &path.child("additionalPrinterColumns"), errors);
        }
        if !common.selectable {
            selectable(version, before, &path.child("selectableFields"), errors);
        }
    }
}

fn before<'o>(version: &Value, old: Option<&'o Value>) -> Option<&'o Value> {
    list(old?, "versions").iter().find(|one| text(one, "name") == text(version, "name"))
}

fn has_status(version: &Value) -> bool {
    has(at(version, "subresources"), "status")
}

pub(super) fn together(versions: &[Value], common: &Common, path: &Path<'_>, errors: &mut Errors) {
    let named = path.child("versions");
    let twice = versions
        .iter()
        .enumerate()
        .any(|(at, one)| versions.iter().take(at).any(|other| text(one, "name") == text(other, "name")));
    let kept = shown::Kept {
        schema: !common.schema,
        subresources: !common.subresources,
        columns: !common.columns,
        selectable: !common.selectable,
    };
    let mut invalid = |detail: &str| {
        let shown = shown::versions(versions, &kept);
        errors.invalid_unshown(&named, &format!("{shown}: {detail}"));
    };
    if twice {
        invalid("must contain unique version names");
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        invalid("must have exactly one version marked as storage version");
    }
    // The older form has the first version's name at the top, and it is looked at there too.
    if let Some(first) = versions.first().map(|version| text(version, "name")).filter(|name| !name.is_empty())
    {
        names::label(first, &path.child("version"), errors);
    }
}

/// What stands at the top because it is the same in all versions.
pub(super) fn at_the_top(
    versions: &[Value],
    common: &Common,
    old: Option<&Value>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let Some(first) = versions.first() else { return };
    let before = before(first, old);
    if common.schema {
        let keeps_status = versions.iter().any(has_status);
        schema::check(first, before, keeps_status, &path.child("validation"), errors);
    }
    if common.subresources {
        subresources(first, &path.child("subresources"), errors);
    }
    if common.columns {
        columns(first, &path.child("additionalPrinterColumns"), errors);
    }
    if common.selectable {
        selectable(first, before, &path.child("selectableFields"), errors);
    }
}

fn deprecation(version: &Value, path: &Path<'_>, errors: &mut Errors) {
    let shown = at(version, "deprecationWarning");
    let Some(warning) = shown.as_str() else { return };
    let mut invalid = |detail: &str| errors.invalid(path, shown, detail);
    if !flag(version, "deprecated") {
        return invalid("can only be set for deprecated versions");
    }
    if warning.len() > 256 {
        invalid("must be <= 256 characters long");
    }
    if warning.is_empty() {
        invalid("must not be an empty string");
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, char)| char.is_control()) {
        invalid(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

fn subresources(version: &Value, path: &Path<'_>, errors: &mut Errors) {
    let scale = at(at(version, "subresources"), "scale");
    if scale.is_null() {
        return;
    }
    for (field, roots, where_) in [
        ("specReplicasPath", &[".spec."][..], "under .spec"),
        ("statusReplicasPath", &[".status."][..], "under .status"),
        ("labelSelectorPath", &[".spec.", ".status."][..], "under either .spec or .status"),
    ] {
        let given = text(scale, field);
        let field_path = path.child("scale");
        let path = field_path.child(field);
        if given.is_empty() {
            if field != "labelSelectorPath" {
                errors.required(&path, "");
            }
        } else if paths::simple(given, &path, errors) && !roots.iter().any(|root| given.starts_with(root)) {
            errors.invalid(&path, &given.into(), &format!("should be a json path {where_}"));
        }
    }
}

fn columns(version: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (at, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let path = path.index(at);
        if text(column, "name").is_empty() {
            errors.required(&path.child("name"), "");
        }
        let kind = text(column, "type");
        if kind.is_empty() {
            errors.required(&path.child("type"), &format!("must be one of {COLUMN_TYPES}"));
        } else if !COLUMN_TYPES.split(',').any(|known| known == kind) {
            errors.invalid(&path.child("type"), &kind.into(), &format!("must be one of {COLUMN_TYPES}"));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.split(',').any(|known| known == format) {
            errors.invalid(
                &path.child("format"),
                &format.into(),
                &format!("must be one of {COLUMN_FORMATS}"),
            );
        }
        let given = text(column, "jsonPath");
        if given.is_empty() {
            errors.required(&path.child("JSONPath"), "");
        } else {
            paths::simple(given, &path.child("JSONPath"), errors);
        }
    }
}

fn selectable(version: &Value, before: Option<&Value>, path: &Path<'_>, errors: &mut Errors) {
    let fields = list(version, "selectableFields");
    if fields.is_empty() {
        return;
    }
    let before = before.map(|before| list(before, "selectableFields"));
    let schema = Schema::parse(schema_of(version), &mut Default::default());
    paths::selectable(fields, &schema, before, path, errors);
}
