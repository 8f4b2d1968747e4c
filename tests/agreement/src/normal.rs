//! Replaces what no two servers can agree on (identities, times, revisions, allocated addresses) by
//! placeholders, so that everything else can be compared exactly. Knows the few field names that hold such values.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

/// Makes two answers to the same request comparable.
pub(crate) fn normalise(body: &mut Value) {
    if body.get("kind").and_then(Value::as_str) == Some("Table") {
        ages(body);
    }
    walk(body);
}

fn walk(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(walk),
        Value::Object(fields) => {
            if let (Some(Value::String(prefix)), Some(Value::String(name))) =
                (fields.get("generateName"), fields.get("name"))
                && name.starts_with(prefix.as_str())
            {
                let name = format!("{prefix}<suffix>");
                fields.insert("name".to_owned(), name.into());
            }
            for (key, field) in fields.iter_mut() {
                if let Some(placeholder) = placeholder(key, field) {
                    *field = placeholder;
                } else {
                    walk(field);
                }
                if key == "managedFields" {
                    in_one_order(field);
                }
            }
        }
        Value::String(text) => *text = plain(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What stands for a field whose value is the server's own choice.
fn placeholder(key: &str, field: &Value) -> Option<Value> {
    let filled = field.as_str().is_some_and(|text| !text.is_empty());
    match key {
        "resourceVersion" if filled => Some("<revision>".into()),
        "continue" if filled => Some("<continue>".into()),
        "creationTimestamp" | "deletionTimestamp" | "time" | "lastTransitionTime" if is_time(field) => {
            Some("<time>".into())
        }
        "clusterIP" if filled && field != "None" => Some("<clusterIP>".into()),
        "clusterIPs" => {
            let count = field.as_array()?.iter().filter(|ip| *ip != "None").count();
            (count > 0).then(|| json!(vec!["<clusterIP>"; count]))
        }
        "nodePort" | "healthCheckNodePort" if field.as_u64()? > 0 => Some("<nodePort>".into()),
        _ => None,
    }
}

fn is_time(field: &Value) -> bool {
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$").ok());
    field.as_str().is_some_and(|text| TIME.as_ref().is_some_and(|time| time.is_match(text)))
}

/// Identities and revisions also occur inside messages.
fn plain(text: &str) -> String {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
            (r"current: \d+", "current: <revision>"),
            (r"too old resource version: (\d+) \(\d+\)", "too old resource version: $1 (<revision>)"),
        ]
        .into_iter()
        .filter_map(|(pattern, stand_in)| Some((Regex::new(pattern).ok()?, stand_in)))
        .collect()
    });
    PATTERNS.iter().fold(text.to_owned(), |text, (pattern, stand_in)| {
        pattern.replace_all(&text, *stand_in).into_owned()
    })
}

/// Entries written within the same second have no order that could be relied on.
fn in_one_order(entries: &mut Value) {
    if let Value::Array(entries) = entries {
        entries.sort_by_cached_key(|entry| {
            ["operation", "manager", "subresource", "apiVersion"].map(|key| entry[key].to_string())
        });
    }
}

/// A table's ages depend on when it was asked for.
fn ages(table: &mut Value) {
    let Some(columns) = table["columnDefinitions"].as_array() else { return };
    let age = |column: &Value| {
        ["Age", "Duration", "Last Schedule", "First Seen", "Last Seen"].iter().any(|name| column["name"] == *name)
    };
    let places: Vec<usize> =
        columns.iter().enumerate().filter(|(_, column)| age(column)).map(|(at, _)| at).collect();
    let Some(rows) = table["rows"].as_array_mut() else { return };
    for row in rows {
        for at in &places {
            if let Some(cell) = row.get_mut("cells").and_then(|cells| cells.get_mut(at))
                && cell.as_str().is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()))
            {
                *cell = "<age>".into();
            }
        }
    }
}

#[cfg(test)]
mod tests;
