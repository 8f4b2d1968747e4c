//! Any other object, field by field: custom kinds and whatever has no page of its own.

use serde_json::Value;

use super::labels_and_annotations;
use super::page::Page;
use super::shown::{entries, plain, text};

/// Told at the top, or of no use to a person.
const ELSEWHERE: [&str; 5] = [
    ".metadata.annotations",
    ".metadata.labels",
    ".metadata.managedFields",
    ".metadata.name",
    ".metadata.namespace",
];
const ACRONYMS: [&str; 4] = ["API", "GUID", "UID", "URL"];

pub(super) fn describe(page: &mut Page, object: &Value) {
    page.field(0, "Name", text(&object["metadata"]["name"]));
    page.field(0, "Namespace", text(&object["metadata"]["namespace"]));
    labels_and_annotations(page, object);
    fields(page, 0, object, "");
}

fn fields(page: &mut Page, level: usize, object: &Value, path: &str) {
    for (field, value) in entries(object) {
        let path = format!("{path}.{field}");
        if ELSEWHERE.contains(&path.as_str()) {
            continue;
        }
        match value {
            Value::Object(_) => {
                page.head(level, label(field));
                fields(page, level + 1, value, &path);
            }
            Value::Array(items) => {
                page.head(level, label(field));
                for item in items {
                    match item {
                        Value::Object(_) => fields(page, level + 1, item, &path),
                        item => page.line(level + 1, written(item)),
                    }
                }
            }
            value => page.field(level, label(field), written(value)),
        }
    }
}

fn written(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(" ")),
        value => plain(value),
    }
}

/// `creationTimestamp` becomes `Creation Timestamp`; what is not a word stays as it is.
fn label(field: &str) -> String {
    if !field.chars().all(|c| c.is_alphabetic() || c == '-') {
        return field.to_owned();
    }
    let mut parts: Vec<String> = Vec::new();
    let mut split = words(field).into_iter().peekable();
    while let Some(word) = split.next() {
        let shouted = word.len() >= 2 && word.chars().all(char::is_uppercase);
        let next = split.next_if(|next| shouted && next.starts_with(char::is_uppercase));
        parts.push(word + &next.unwrap_or_default());
    }
    let titled = parts.into_iter().map(|part| {
        let upper = part.to_uppercase();
        if ACRONYMS.contains(&upper.as_str()) {
            return upper;
        }
        if part.to_lowercase() != part {
            return part;
        }
        let mut letters = part.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
            .unwrap_or_default()
    });
    titled.collect::<Vec<_>>().join(" ")
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Lower,
    Upper,
    Other,
}

/// Split where letters change case; the last capital of several belongs to the word after it.
fn words(field: &str) -> Vec<String> {
    let mut words: Vec<(Class, String)> = Vec::new();
    for letter in field.chars() {
        let class = match letter {
            letter if letter.is_lowercase() => Class::Lower,
            letter if letter.is_uppercase() => Class::Upper,
            _ => Class::Other,
        };
        match words.last_mut() {
            Some((last, word)) if *last == class => word.push(letter),
            _ => words.push((class, letter.to_string())),
        }
    }
    for place in 1..words.len() {
        if words[place - 1].0 == Class::Upper
            && words[place].0 == Class::Lower
            && let Some(capital) = words[place - 1].1.pop()
        {
            words[place].1.insert(0, capital);
        }
    }
    words.into_iter().map(|(_, word)| word).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn fields_become_labels() {
        for (field, shown) in [
            ("creationTimestamp", "Creation Timestamp"),
            ("apiVersion", "API Version"),
            ("uid", "UID"),
            ("podIP", "Pod IP"),
            ("clusterIPs", "Cluster I Ps"),
            ("HTTPGet", "HTTPGet"),
            ("kind", "Kind"),
            ("a.b/c", "a.b/c"),
            ("v1", "v1"),
        ] {
            assert_eq!(label(field), shown, "{field}");
        }
    }
}
