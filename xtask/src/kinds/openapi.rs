//! Reads structs out of k8s-openapi's generated sources by their fixed layout. Knows nothing of protobuf or of kinds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::model::{Field, List, Type, Types};
use super::{TableError, rust_files};

const HEADER: &str = "// Generated from definition ";

/// Types that are one JSON value although Rust (or Go) has a struct for them, and the table's letter for each.
const SPECIAL: [(&str, &str); 10] = [
    ("IntOrString", "x"),
    ("Quantity", "q"),
    ("MicroTime", "m"),
    ("Time", "t"),
    ("RawExtension", "*"),
    ("FieldsV1", "*"),
    ("JSON", "*"),
    ("JSONSchemaPropsOrArray", "*a"),
    ("JSONSchemaPropsOrBool", "*b"),
    ("JSONSchemaPropsOrStringArray", "*s"),
];

pub(super) fn read(root: &Path) -> Result<Types, TableError> {
    let files = rust_files(root)?;
    let mut sources = BTreeMap::new();
    for text in files.values() {
        let Some(name) = text.strip_prefix(HEADER).and_then(|rest| rest.lines().next()) else { continue };
        let short = name.rsplit('.').next().unwrap_or(name);
        if !SPECIAL.iter().any(|(special, _)| *special == short)
            && !matches!(short, "List" | "Patch" | "WatchEvent")
        {
            sources.insert(name.to_owned(), text.as_str());
        }
    }
    // `crate::api::core::v1::Pod` and the OpenAPI name differ in their first parts; the module path settles which is meant.
    let by_path: BTreeMap<String, String> =
        sources.keys().map(|name| (rust_path(name), name.clone())).collect();
    let mut types = Types::new();
    for (name, text) in &sources {
        types.insert(name.clone(), read_type(name, text, &by_path)?);
    }
    resolve_keys(&mut types, &sources);
    Ok(types)
}

fn rust_path(name: &str) -> String {
    let name = name.strip_prefix("io.k8s.").unwrap_or(name);
    format!(
        "crate::{}",
        name.replace("apiextensions-apiserver", "apiextensions_apiserver")
            .replace("kube-aggregator", "kube_aggregator")
            .replace('.', "::")
    )
}

fn read_type(name: &str, text: &str, by_path: &BTreeMap<String, String>) -> Result<Type, TableError> {
    let required: BTreeSet<&str> =
        block(text, "            \"required\": [", "            ]").filter_map(quoted).collect();
    let merged = merges(text);
    let rust_types: BTreeMap<&str, &str> = block(text, "pub struct ", "}")
        .filter_map(|line| line.trim().strip_prefix("pub ")?.strip_suffix(',')?.split_once(": "))
        .collect();
    let mut read = Type::default();
    for (json, rust) in json_names(text) {
        let shape = match rust_types.get(rust) {
            Some(&rust_type) => shape(rust_type, by_path).ok_or_else(|| TableError::FieldType {
                type_name: name.into(),
                field: json.into(),
                rust: rust_type.into(),
            })?,
            // Resources leave these two out of the struct: they are constants of the type.
            None => "s".into(),
        };
        let mut field = Field { shape, required: required.contains(json), ..Field::default() };
        match merged.get(rust) {
            Some(Merge::Set) => field.list = List::Set,
            Some(Merge::Keys(keys)) => field.list = List::Map(keys.clone()),
            Some(Merge::AtomicMap) => field.atomic = true,
            None => {}
        }
        read.fields.insert(json.to_owned(), field);
    }
    Ok(read)
}

/// JSON name and Rust name of each field.
fn json_names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (json, rust) = line.trim().strip_prefix('"')?.split_once("\" => Field::Key_")?;
        Some((json, rust.strip_suffix(',')?))
    })
}

fn shape(rust: &str, by_path: &BTreeMap<String, String>) -> Option<String> {
    let inside = |prefix: &str| rust.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(inner) = inside("Option<").or_else(|| inside("std::boxed::Box<")) {
        return shape(inner, by_path);
    }
    if let Some(inner) = inside("std::vec::Vec<") {
        return Some(format!("[{}", shape(inner, by_path)?));
    }
    if let Some(inner) = inside("std::collections::BTreeMap<std::string::String, ") {
        return Some(format!("{{{}", shape(inner, by_path)?));
    }
    let letter = match rust {
        "std::string::String" => "s",
        "bool" => "b",
        "i32" => "i",
        "i64" => "l",
        "f64" => "d",
        "crate::ByteString" => "y",
        _ => {
            let short = rust.rsplit("::").next()?;
            if let Some((_, letter)) = SPECIAL.iter().find(|(special, _)| *special == short) {
                return Some((*letter).into());
            }
            return Some(format!("@{}", by_path.get(rust)?));
        }
    };
    Some(letter.into())
}

enum Merge {
    Set,
    /// Rust names; turned into JSON names once all types are read.
    Keys(Vec<String>),
    AtomicMap,
}

/// What the type's own merge does with each field that has a strategy.
fn merges(text: &str) -> BTreeMap<&str, Merge> {
    let mut found = BTreeMap::new();
    for call in text.split("crate::merge_strategies::").skip(1) {
        let Some((_, rest)) = call.split_once("&mut self.") else { continue };
        let Some(field) = rest.split(',').next() else { continue };
        if call.starts_with("list::set(") {
            found.insert(field, Merge::Set);
        } else if call.starts_with("map::atomic(") {
            found.insert(field, Merge::AtomicMap);
        } else if call.starts_with("list::map(") {
            let keys = rest.split("],").next().unwrap_or_default().split("lhs.").skip(1);
            let keys = keys.filter_map(|key| key.split(' ').next()).map(str::to_owned).collect();
            found.insert(field, Merge::Keys(keys));
        }
    }
    found
}

/// Merge keys are read as Rust names of the item type's fields; the table has JSON names.
fn resolve_keys(types: &mut Types, sources: &BTreeMap<String, &str>) {
    for kind in types.values_mut() {
        for field in kind.fields.values_mut() {
            let item = field.shape.strip_prefix("[@").and_then(|item| sources.get(item));
            if let (List::Map(keys), Some(item)) = (&mut field.list, item) {
                for key in keys {
                    if let Some((json, _)) = json_names(item).find(|(_, rust)| rust == key) {
                        *key = json.to_owned();
                    }
                }
            }
        }
    }
}

fn block<'t>(text: &'t str, from: &str, to: &str) -> impl Iterator<Item = &'t str> {
    text.lines()
        .skip_while(move |line| !line.starts_with(from))
        .skip(1)
        .take_while(move |line| !line.starts_with(to))
}

fn quoted(line: &str) -> Option<&str> {
    line.trim().strip_prefix('"')?.split('"').next()
}
