//! Renders the table. Its form is described where it is read, in `builtin/table.rs` of kedge-kinds.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::TableError;
use super::facts::{Resource, type_of};
use super::model::{Field, List, Types, Zero};

/// Structs that no kind holds and the API speaks all the same.
const LOOSE: [(&str, &str); 14] = [
    ("meta/v1", "APIGroup"),
    ("meta/v1", "APIGroupList"),
    ("meta/v1", "APIResourceList"),
    ("meta/v1", "APIVersions"),
    ("meta/v1", "DeleteOptions"),
    ("meta/v1", "ListMeta"),
    ("meta/v1", "Status"),
    ("meta/v1", "CreateOptions"),
    ("meta/v1", "UpdateOptions"),
    ("meta/v1", "PatchOptions"),
    ("meta/v1", "PartialObjectMetadata"),
    ("policy/v1", "Eviction"),
    ("autoscaling/v1", "Scale"),
    ("authentication.k8s.io/v1", "TokenRequest"),
];

pub(super) fn render(resources: &[Resource<'_>], types: &Types) -> Result<(String, String), TableError> {
    let mut text =
        String::from("# Written by `cargo run -p xtask -- kinds`; change what it reads instead of this.\n");
    for resource in resources {
        let _ = writeln!(text, "K {}", resource.line);
    }
    let loose = LOOSE.iter().map(|(gv, kind)| ("the API".to_owned(), type_of(gv, kind)));
    let mut open: Vec<(String, String)> = resources
        .iter()
        .map(|resource| (resource.line.to_owned(), resource.root.clone()))
        .chain(loose)
        .collect();
    let mut reached = BTreeSet::new();
    while let Some((user, name)) = open.pop() {
        let kind = types.get(&name).ok_or_else(|| TableError::Missing { user, missing: name.clone() })?;
        if reached.insert(name.clone()) {
            open.extend(kind.fields.values().filter_map(|field| {
                let (_, held) = field.shape.split_once('@')?;
                Some((name.clone(), held.to_owned()))
            }));
        }
    }
    let mut fields = 0;
    for (name, kind) in types.iter().filter(|(name, _)| reached.contains(*name)) {
        let atomic = if kind.atomic { " atomic" } else { "" };
        let _ = writeln!(text, "T {}{atomic}", short(name));
        for (json, field) in &kind.fields {
            fields += 1;
            let _ = writeln!(text, "{}", line(json, field));
        }
    }
    Ok((text, format!("{} kinds, {} types, {fields} fields", resources.len(), reached.len())))
}

fn short(name: &str) -> &str {
    name.strip_prefix("io.k8s.").unwrap_or(name)
}

fn line(json: &str, field: &Field) -> String {
    let shape = match field.shape.split_once('@') {
        Some((outer, name)) => format!("{outer}@{}", short(name)),
        None => field.shape.clone(),
    };
    let mut line = format!("{json} {shape}");
    if field.tag > 0 {
        let _ = write!(line, " {}", field.tag);
    }
    if !field.within.is_empty() {
        let within: Vec<String> = field.within.iter().map(u32::to_string).collect();
        let _ = write!(line, " in={}", within.join("."));
    }
    if field.required {
        line.push_str(" required");
    }
    match &field.list {
        List::Atomic => {}
        List::Set => line.push_str(" set"),
        List::Map(keys) => {
            let _ = write!(line, " map={}", keys.join(","));
        }
    }
    if field.atomic {
        line.push_str(" atomic");
    }
    if field.granular {
        line.push_str(" granular");
    }
    if let Some(patch) = &field.patch {
        if patch.merge {
            line.push_str(" merge");
        }
        if patch.retain_keys {
            line.push_str(" retain");
        }
        if patch.replace {
            line.push_str(" replace");
        }
        if let Some(key) = &patch.key {
            let _ = write!(line, " key={key}");
        }
    }
    line.push_str(match field.zero {
        Zero::Usual => "",
        Zero::Omit => " omit",
        Zero::Keep => " keep",
        Zero::Write => " write",
    });
    line
}

/// Those of the fields without a number whose types made it into the table.
pub(super) fn loose(text: &str, untagged: &[String]) -> Vec<String> {
    let written: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("T "))
        .map(|rest| rest.trim_end_matches(" atomic"))
        .collect();
    let is_written =
        |name: &&String| name.rsplit_once('.').is_some_and(|(kind, _)| written.contains(short(kind)));
    untagged.iter().filter(is_written).cloned().collect()
}
