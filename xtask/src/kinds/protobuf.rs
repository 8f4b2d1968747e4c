//! Reads field numbers out of k8s-pb's generated sources and gives them to the structs of the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::model::{Type, Types};
use super::{TableError, rust_files};

/// Messages by folded path, `apicorev1container`.
pub(super) type Messages = BTreeMap<String, Message>;

#[derive(Debug, Default)]
pub(super) struct Message {
    /// By folded name: number and, if it is one, the message it holds.
    fields: BTreeMap<String, (u32, Option<String>)>,
}

/// Both sources bend upstream's names to Rust's taste, each in its own way; without case and separators they agree.
fn fold(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

pub(super) fn read(root: &Path) -> Result<Messages, TableError> {
    let mut messages = Messages::new();
    for (path, text) in rust_files(root)? {
        let module = path
            .strip_prefix(root)
            .ok()
            .and_then(Path::parent)
            .map(|folder| folder.to_string_lossy().into_owned());
        let module = module.unwrap_or_default();
        let mut current: Option<(String, Message)> = None;
        let mut tag = 0;
        // The formatter breaks long field declarations after the colon and inside the angle brackets.
        let joined = text.replace(":\n", ": ").replace("<\n", "<");
        for line in joined.lines().map(str::trim) {
            if let Some(name) =
                line.strip_prefix("pub struct ").and_then(|rest| rest.split([' ', '{']).next())
            {
                messages.extend(current.replace((fold(&format!("{module}{name}")), Message::default())));
            } else if line.starts_with("#[prost(") {
                tag = line
                    .split("tag = \"")
                    .nth(1)
                    .and_then(|rest| rest.split('"').next()?.parse().ok())
                    .unwrap_or(0);
            } else if let Some((name, rust)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(':'))
                && let Some((_, message)) = &mut current
            {
                let name = fold(name.strip_prefix("r#").unwrap_or(name));
                message.fields.insert(name, (tag, held(rust, &module)));
            }
        }
        messages.extend(current);
    }
    Ok(messages)
}

/// The message that an optional field holds, by folded path.
fn held(rust: &str, module: &str) -> Option<String> {
    let inner = rust.trim().strip_prefix("::core::option::Option<")?.trim().trim_end_matches([',', '>']);
    let ups = inner.matches("super::").count();
    let parts: Vec<&str> = module.split('/').collect();
    let base = parts.get(..parts.len().checked_sub(ups)?)?.concat();
    Some(fold(&format!("{base}{}", inner.replace("super::", ""))))
}

/// Numbers every field that has a namesake, directly or in an inlined message; tells which have none.
pub(super) fn number(types: &mut Types, messages: &Messages) -> Vec<String> {
    let mut untagged = Vec::new();
    for (name, kind) in types {
        let path = fold(name.strip_prefix("io.k8s.").unwrap_or(name));
        let Some(message) = messages.get(&path) else {
            untagged.push(format!("{name}.*"));
            continue;
        };
        number_type(name, kind, message, messages, &mut untagged);
    }
    untagged
}

fn number_type(
    name: &str,
    kind: &mut Type,
    message: &Message,
    messages: &Messages,
    untagged: &mut Vec<String>,
) {
    let own: BTreeSet<String> = kind.fields.keys().map(|json| fold(json)).collect();
    for (json, field) in &mut kind.fields {
        match find(&fold(json), message, messages, &own) {
            Some(mut path) => {
                // JSON has the list itself where protobuf has a message that holds nothing else.
                if name.ends_with(".APIResource") && json == "verbs" {
                    path.push(1);
                }
                field.tag = path.last().copied().unwrap_or(0);
                field.within = path.split_last().map(|(_, outer)| outer.to_vec()).unwrap_or_default();
            }
            None if matches!(json.as_str(), "kind" | "apiVersion") => {}
            None => untagged.push(format!("{name}.{json}")),
        }
    }
}

/// The numbers on the way to a field: its own, after those of the messages that JSON has inlined. A message is inlined if JSON has
/// no field of its name.
fn find(folded: &str, message: &Message, messages: &Messages, own: &BTreeSet<String>) -> Option<Vec<u32>> {
    if let Some((tag, _)) = message.fields.get(folded) {
        return Some(vec![*tag]);
    }
    message.fields.iter().filter(|(name, _)| !own.contains(*name)).find_map(|(_, (outer, held))| {
        let inner = find(folded, messages.get(held.as_deref()?)?, messages, own)?;
        Some([vec![*outer], inner].concat())
    })
}
