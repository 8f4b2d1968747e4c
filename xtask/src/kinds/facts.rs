//! Reads the hand-kept files: `resources.txt`, which kinds are served and how, and `facts.txt`, what the crates' sources
//! don't say about fields or say otherwise than upstream.

use super::TableError;
use super::model::{List, Patch, Types, Zero};

/// A line of `resources.txt`, checked for form and passed on to the table as it stands.
pub(super) struct Resource<'t> {
    pub(super) line: &'t str,
    /// The struct, by its OpenAPI name.
    pub(super) root: String,
}

pub(super) fn resources(text: &str) -> Result<Vec<Resource<'_>>, TableError> {
    lines(text)
        .map(|(number, line)| {
            let bad = |why| TableError::Facts { file: "resources.txt", line: number, why, text: line.into() };
            let mut words = line.split(' ');
            let (Some(gv), Some(_), Some(kind), Some("N" | "C")) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                return Err(bad("a resource is `group/version plural Kind N|C …`"));
            };
            if words.any(|word| !word.contains('=')) {
                return Err(bad("what follows the scope is `name=value`"));
            }
            Ok(Resource { line, root: type_of(gv, kind) })
        })
        .collect()
}

/// The OpenAPI name of a kind's struct. Upstream's packages are named after the first part of the group.
pub(super) fn type_of(gv: &str, kind: &str) -> String {
    let (group, version) = gv.split_once('/').unwrap_or(("core", gv));
    let package = match group {
        "apiextensions.k8s.io" => "apiextensions-apiserver.pkg.apis.apiextensions",
        "apiregistration.k8s.io" => "kube-aggregator.pkg.apis.apiregistration",
        "rbac.authorization.k8s.io" => "api.rbac",
        "meta" => "apimachinery.pkg.apis.meta",
        other => return format!("io.k8s.api.{}.{version}.{kind}", other.split('.').next().unwrap_or(other)),
    };
    format!("io.k8s.{package}.{version}.{kind}")
}

/// `<type> <fact> <field> …`, one fact a line for any number of fields. The type is without `io.k8s.`.
pub(super) fn apply(text: &str, types: &mut Types) -> Result<(), TableError> {
    for (number, line) in lines(text) {
        let bad = |why| TableError::Facts { file: "facts.txt", line: number, why, text: line.into() };
        let mut words = line.split_whitespace();
        let (Some(name), Some(fact)) = (words.next(), words.next()) else {
            return Err(bad("a fact is `type fact field…`"));
        };
        let kind = types.entry(format!("io.k8s.{name}"));
        let kind = match fact {
            "struct" => kind.or_default(),
            _ => match kind {
                std::collections::btree_map::Entry::Occupied(found) => found.into_mut(),
                std::collections::btree_map::Entry::Vacant(_) => {
                    return Err(bad("no source defines this type"));
                }
            },
        };
        match fact {
            "struct" => {}
            "atomic" if line.ends_with(" atomic") => kind.atomic = true,
            _ => {
                for field_name in words {
                    let (fact, value) = fact.split_once('=').unwrap_or((fact, ""));
                    if fact == "field" {
                        let added = kind.fields.entry(field_name.into()).or_default();
                        let (shape, tag) = value.split_once(',').unwrap_or((value, "0"));
                        (added.shape, added.tag) =
                            (shape.into(), tag.parse().map_err(|_| bad("a tag is a number"))?);
                        continue;
                    }
                    let field =
                        kind.fields.get_mut(field_name).ok_or_else(|| bad("the type has no such field"))?;
                    match fact {
                        "atomic" => field.atomic = true,
                        "granular" => (field.granular, field.atomic) = (true, false),
                        "required" => field.required = true,
                        "optional" => field.required = false,
                        "set" => field.list = List::Set,
                        "list-atomic" => field.list = List::Atomic,
                        "map" => field.list = List::Map(value.split(',').map(str::to_owned).collect()),
                        "merge" => field.patch.get_or_insert_with(Patch::default).merge = true,
                        "retain-keys" => field.patch.get_or_insert_with(Patch::default).retain_keys = true,
                        "replace" => field.patch.get_or_insert_with(Patch::default).replace = true,
                        "merge-key" => {
                            field.patch.get_or_insert_with(Patch::default).key = Some(value.into());
                        }
                        "omit" => field.zero = Zero::Omit,
                        "keep" => field.zero = Zero::Keep,
                        "write" => field.zero = Zero::Write,
                        "tag" => field.tag = value.parse().map_err(|_| bad("a tag is a number"))?,
                        "shape" => field.shape = value.into(),
                        _ => return Err(bad("no such fact")),
                    }
                }
            }
        }
    }
    Ok(())
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
