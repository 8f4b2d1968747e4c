//! Label selectors and label maps as one line of text. Only shows them; nothing is matched here.

use serde_json::Value;

use super::items;

/// A map of labels, `a=b,c=d`; `<none>` where there is none.
pub(super) fn labels(map: &Value) -> String {
    let pairs = pairs(map);
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// A selector with expressions; `<none>` where it selects everything or is absent.
pub(super) fn selector(selector: &Value) -> String {
    let text = requirements(selector);
    if text.is_empty() { "<none>".to_owned() } else { text }
}

/// A selector with expressions, sorted by key as the wire form of a selector is.
pub(super) fn requirements(selector: &Value) -> String {
    let mut all: Vec<(String, String)> = pairs(&selector["matchLabels"])
        .into_iter()
        .map(|pair| (pair.split('=').next().unwrap_or_default().to_owned(), pair))
        .collect();
    for expression in items(&selector["matchExpressions"]) {
        let key = expression["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> = items(&expression["values"]).iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        all.push((key.to_owned(), text));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

fn pairs(map: &Value) -> Vec<String> {
    let map = map.as_object().into_iter().flatten();
    let mut pairs: Vec<(&String, &str)> =
        map.map(|(key, value)| (key, value.as_str().unwrap_or_default())).collect();
    pairs.sort();
    pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
}
