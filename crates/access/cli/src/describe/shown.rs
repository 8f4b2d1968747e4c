//! How values of objects are written for people: labels, selectors, times, lists, amounts. Knows no kind.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use kedge_kinds::Quantity;
use serde_json::Value;

use crate::print::age;

/// When it is, and in which zone people read times.
#[derive(Clone)]
pub(crate) struct Now {
    pub(crate) at: Timestamp,
    pub(crate) zone: TimeZone,
}

impl Now {
    /// `Mon, 02 Jan 2006 15:04:05 -0700`
    pub(super) fn date(&self, time: &Value) -> String {
        match parse(time) {
            Some(time) => time.to_zoned(self.zone.clone()).strftime("%a, %d %b %Y %H:%M:%S %z").to_string(),
            // What was never set reads as the calendar's first second, as people know it.
            None => "Mon, 01 Jan 0001 00:00:00 +0000".to_owned(),
        }
    }

    /// `2006-01-02 15:04:05 -0700 MST`
    pub(super) fn stamp(&self, time: &Value) -> String {
        match parse(time) {
            Some(time) => time.to_zoned(self.zone.clone()).strftime("%Y-%m-%d %H:%M:%S %z %Z").to_string(),
            None => "0001-01-01 00:00:00 +0000 UTC".to_owned(),
        }
    }

    /// How long ago; `<unknown>` for what was never set.
    pub(crate) fn since(&self, time: &Value) -> String {
        age::since(time, self.at)
    }
}

pub(crate) fn parse(time: &Value) -> Option<Timestamp> {
    time.as_str()?.parse().ok()
}

/// Text, or nothing.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A number; what is missing is zero, as the API leaves zeros out.
pub(super) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

pub(super) fn truth(value: &Value) -> bool {
    value.as_bool().unwrap_or_default()
}

pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let mut entries: Vec<(&str, &Value)> =
        value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries.into_iter()
}

pub(super) fn is_there(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// A number, text or whatever stands there; nothing where nothing is.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn plain_or(value: &Value, missing: &str) -> String {
    if is_there(value) { plain(value) } else { missing.to_owned() }
}

/// `True` or `False`, and `<unset>` where nobody said.
pub(super) fn yes(value: &Value) -> &'static str {
    match value.as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    }
}

pub(super) fn joined(list: &Value, between: &str) -> String {
    items(list).iter().map(plain).collect::<Vec<_>>().join(between)
}

/// `[a b c]`
pub(super) fn bracketed(list: &Value) -> String {
    format!("[{}]", joined(list, " "))
}

/// `a=1,b=2`, or `<none>`.
pub(super) fn labels(map: &Value) -> String {
    let pairs: Vec<String> = pairs(map).collect();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// `a=1`, sorted.
pub(crate) fn pairs(map: &Value) -> impl Iterator<Item = String> {
    entries(map).map(|(key, value)| format!("{key}={}", plain(value)))
}

/// A label selector as it is typed: `a=1,b in (x,y),!c`.
pub(crate) fn selector(selector: &Value) -> String {
    let mut parts: Vec<(&str, String)> = entries(&selector["matchLabels"])
        .map(|(key, value)| (key, format!("{key}={}", plain(value))))
        .collect();
    for one in items(&selector["matchExpressions"]) {
        let key = text(&one["key"]);
        let mut values: Vec<&str> = items(&one["values"]).iter().map(text).collect();
        values.sort_unstable();
        let values = values.join(",");
        let written = match text(&one["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key, written));
    }
    parts.sort_by_key(|(key, _)| *key);
    parts.into_iter().map(|(_, written)| written).collect::<Vec<_>>().join(",")
}

/// The same, but `<none>` for one that says nothing.
pub(super) fn selector_or_none(value: &Value) -> String {
    Some(selector(value)).filter(|text| !text.is_empty()).unwrap_or_else(|| "<none>".to_owned())
}

/// `ReplicaSet/web-5d4f`, if a controller made it.
pub(super) fn controller(object: &Value) -> Option<String> {
    let owner = owner(object)?;
    Some(format!("{}/{}", text(&owner["kind"]), text(&owner["name"])))
}

pub(super) fn owner(object: &Value) -> Option<&Value> {
    items(&object["metadata"]["ownerReferences"]).iter().find(|owner| truth(&owner["controller"]))
}

pub(super) fn quantity(value: &Value) -> Quantity {
    plain(value).parse().unwrap_or(Quantity::ZERO)
}

/// An address and a port; colons of the address would run into the port's.
pub(super) fn host_port(host: &str, port: &str) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The zone of who reads.
pub(crate) fn local_zone() -> TimeZone {
    let named = std::env::var("TZ").ok().map(|name| name.trim_start_matches(':').to_owned());
    let linked = || {
        let target = std::fs::read_link("/etc/localtime").ok()?;
        Some(target.to_str()?.split_once("zoneinfo/")?.1.to_owned())
    };
    let name = named.or_else(linked).filter(|name| !name.is_empty());
    name.and_then(|name| TimeZone::get(&name).ok()).unwrap_or(TimeZone::UTC)
}
