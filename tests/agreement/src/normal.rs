//! Replaces what no two servers can agree on (identities, times, revisions, allocated addresses) by
//! placeholders, so that everything else can be compared exactly. Knows the few field names that hold such values.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

/// Makes two answers to the same request comparable.
pub(crate) fn normalise(value: &mut Value) {
    match value.get("kind").and_then(Value::as_str) {
        Some("Table") => table(value),
        Some("CertificateSigningRequest") => requester(value),
        _ => {}
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(fields) => {
            // A hash of the stock server's own storage layout.
            fields.remove("storageVersionHash");
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
                    normalise(field);
                }
                match key.as_str() {
                    "managedFields" => {
                        in_one_order(field, &["operation", "manager", "subresource", "apiVersion"]);
                    }
                    "nonResourceRules" | "resourceRules" => {
                        in_one_order(field, &["nonResourceURLs", "resources", "verbs"]);
                    }
                    "causes" => {
                        in_one_order(field, &["field", "reason", "message"]);
                        once(field);
                    }
                    _ => {}
                }
            }
        }
        Value::String(_) if is_server_time(value) => *value = "<time>".into(),
        Value::String(text) => *text = plain(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What stands for a field whose value is the server's own choice.
fn placeholder(key: &str, field: &Value) -> Option<Value> {
    let filled = field.as_str().is_some_and(|text| !text.is_empty());
    match key {
        "resourceVersion" if filled => Some("<revision>".into()),
        "serverAddress" if filled => Some("<address>".into()),
        "continue" if filled => Some("<continue>".into()),
        _ if is_server_time(field) => Some("<time>".into()),
        "clusterIP" if filled && field != "None" => Some("<clusterIP>".into()),
        "clusterIPs" => {
            let count = field.as_array()?.iter().filter(|ip| *ip != "None").count();
            (count > 0).then(|| json!(vec!["<clusterIP>"; count]))
        }
        "nodePort" | "healthCheckNodePort" if field.as_u64()? > 0 => Some("<nodePort>".into()),
        _ => None,
    }
}

/// Times that a case chooses lie in 2020; every other one is the server's.
fn is_server_time(field: &Value) -> bool {
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$").ok());
    field.as_str().is_some_and(|text| {
        !text.starts_with("2020-") && TIME.as_ref().is_some_and(|time| time.is_match(text))
    })
}

/// Identities and revisions also occur inside messages; JSON inside a text has its keys in some order.
fn plain(text: &str) -> String {
    if text.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        return value.to_string();
    }
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
            (r"current: \d+", "current: <revision>"),
            (r"too old resource version: (\d+) \(\d+\)", "too old resource version: $1 (<revision>)"),
            (r"in record \(\d+\)", "in record (<revision>)"),
            // How the stock server's language prints its own types says nothing about the API.
            (r#"Invalid value: "(?:\{|map\[)(?:[^"\\]|\\.)*""#, r#"Invalid value: "<object>""#),
            (r"(Invalid|Unsupported) value: (?:\{.*?\}|\[.*?\]): ", "$1 value: <object>: "),
            (r"Duplicate value: \{[^{}]*\}", "Duplicate value: <object>"),
            (r#" in scheme "[^"]*""#, ""),
            (r"Go struct field \w+\.(\S+) of type [^\s,]+", "Go struct field <type>.$1 of type <type>"),
            (r"map\[[^\]]*\]", "<object>"),
            (r"(?s)\n ?[{@].*", ""),
        ]
        .into_iter()
        .filter_map(|(pattern, stand_in)| Some((Regex::new(pattern).ok()?, stand_in)))
        .collect()
    });
    PATTERNS
        .iter()
        .fold(text.to_owned(), |text, (pattern, stand_in)| pattern.replace_all(&text, *stand_in).into_owned())
}

/// Owners that wrote within the same second, rules of several roles and causes have no order to rely on.
fn in_one_order(list: &mut Value, by: &[&str]) {
    if let Value::Array(items) = list {
        items.sort_by_cached_key(|item| by.iter().map(|key| item[key].to_string()).collect::<Vec<_>>());
    }
}

/// The stock server checks some rules twice and then says so twice.
fn once(causes: &mut Value) {
    if let Value::Array(causes) = causes {
        causes.dedup();
    }
}

/// A signing request names who made it, which is the kubeconfig's choice.
fn requester(request: &mut Value) {
    if let Some(spec) = request["spec"].as_object_mut() {
        for key in ["username", "groups", "extra"] {
            spec.remove(key);
        }
    }
}

/// Ages depend on when a table was asked for, addresses on the server; what a column means is prose.
fn table(table: &mut Value) {
    let mut names = Vec::new();
    for column in table["columnDefinitions"].as_array_mut().into_iter().flatten() {
        if let Some(column) = column.as_object_mut() {
            column.remove("description");
        }
        names.push(column["name"].as_str().unwrap_or_default().to_owned());
    }
    for row in table["rows"].as_array_mut().into_iter().flatten() {
        let cells = row["cells"].as_array_mut().into_iter().flatten();
        for (at, cell) in cells.enumerate() {
            // Only the first table of a watch names its columns.
            let column = names.get(at).map(String::as_str);
            if let Some(text) = cell.as_str().and_then(|text| allocated(column, text)) {
                *cell = text.into();
            }
        }
    }
}

fn allocated(column: Option<&str>, text: &str) -> Option<String> {
    static AGE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(\d+[smhdy])+").ok());
    static PORT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r":3\d{4}/").ok());
    match column {
        None | Some("Age" | "Duration" | "Last Schedule" | "Last Seen" | "Restarts") => {
            Some(AGE.as_ref()?.replace_all(text, "<age>").into_owned())
        }
        Some("Cluster-IP") if text.contains('.') => Some("<clusterIP>".to_owned()),
        Some("Port(s)") => Some(PORT.as_ref()?.replace_all(text, ":<nodePort>/").into_owned()),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests;
