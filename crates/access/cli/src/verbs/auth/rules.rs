//! Whether rules of roles allow what other rules allow. Pure.

use serde_json::{Value, json};

/// The least that rules allow one by one: one verb on one resource, name or path.
pub(super) fn single(rules: &[Value]) -> Vec<Value> {
    let mut all = Vec::new();
    for rule in rules {
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                for verb in list(rule, "verbs") {
                    let one = json!({"verbs": [verb], "apiGroups": [group], "resources": [resource]});
                    match list(rule, "resourceNames") {
                        names if names.is_empty() => all.push(one),
                        names => all.extend(names.into_iter().map(|name| {
                            let mut one = one.clone();
                            one["resourceNames"] = json!([name]);
                            one
                        })),
                    }
                }
            }
        }
        for path in list(rule, "nonResourceURLs") {
            for verb in list(rule, "verbs") {
                all.push(json!({"verbs": [verb], "nonResourceURLs": [path]}));
            }
        }
    }
    all
}

/// What `wanted` allows and `given` does not.
pub(super) fn missing(given: &[Value], wanted: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = single(wanted);
    all.retain(|one| !given.iter().any(|rule| covers(rule, one)));
    all
}

/// A rule allows what a single one does.
fn covers(rule: &Value, one: &Value) -> bool {
    let has = |key: &str| {
        let allowed = list(rule, key);
        list(one, key).into_iter().all(|wanted| allowed.contains(&"*") || allowed.contains(&wanted))
    };
    let paths = list(rule, "nonResourceURLs");
    let has_path = |wanted: &str| {
        paths.iter().any(|path| match path.strip_suffix('*') {
            Some(start) => wanted.starts_with(start),
            None => *path == wanted,
        })
    };
    let resources = list(rule, "resources");
    let has_resource = |wanted: &str| {
        let part = wanted.split_once('/').map(|(_, part)| format!("*/{part}"));
        resources.contains(&"*")
            || resources.contains(&wanted)
            || part.is_some_and(|part| resources.contains(&&*part))
    };
    let names = list(rule, "resourceNames");
    let wanted_names = list(one, "resourceNames");
    has("verbs")
        && has("apiGroups")
        && list(one, "resources").into_iter().all(has_resource)
        && list(one, "nonResourceURLs").into_iter().all(has_path)
        && (names.is_empty()
            || !wanted_names.is_empty() && wanted_names.iter().all(|name| names.contains(name)))
}

/// `{Verbs:[get list] APIGroups:[] …}`
pub(super) fn told(rule: &Value) -> String {
    let words = |key: &str| list(rule, key).join(" ");
    format!(
        "{{Verbs:[{}] APIGroups:[{}] Resources:[{}] ResourceNames:[{}] NonResourceURLs:[{}]}}",
        words("verbs"),
        words("apiGroups"),
        words("resources"),
        words("resourceNames"),
        words("nonResourceURLs")
    )
}

fn list<'v>(rule: &'v Value, key: &str) -> Vec<&'v str> {
    rule[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{missing, told};

    fn rule(verbs: &str, resources: &str, names: &str) -> Value {
        let list = |text: &str| text.split_whitespace().map(Value::from).collect::<Vec<_>>();
        json!({"verbs": list(verbs), "apiGroups": [""], "resources": list(resources), "resourceNames": list(names)})
    }

    #[test]
    fn what_is_not_allowed_yet_is_missing() {
        let path = |path: &str| json!({"verbs": ["get"], "nonResourceURLs": [path]});
        for (case, given, wanted, absent) in [
            ("the same", rule("get list", "pods", ""), rule("get list", "pods", ""), vec![]),
            ("a verb", rule("get", "pods", ""), rule("get list", "pods", ""), vec!["list pods"]),
            ("every verb", rule("*", "pods", ""), rule("get watch", "pods", ""), vec![]),
            ("every resource", rule("get", "*", ""), rule("get", "pods pods/log", ""), vec![]),
            ("a part of all", rule("get", "*/log", ""), rule("get", "pods pods/log", ""), vec!["get pods"]),
            ("one name of all", rule("get", "pods", ""), rule("get", "pods", "a"), vec![]),
            ("all of one name", rule("get", "pods", "a"), rule("get", "pods", ""), vec!["get pods"]),
            ("another name", rule("get", "pods", "a"), rule("get", "pods", "a b"), vec!["get pods b"]),
            ("a path below", path("/a*"), path("/a/b"), vec![]),
            ("another path", path("/a"), path("/b"), vec!["get /b"]),
            ("a path and a resource", rule("*", "*", ""), path("/b"), vec!["get /b"]),
        ] {
            let words = |one: &Value| {
                let keys = ["verbs", "resources", "nonResourceURLs", "resourceNames"];
                let all = keys.into_iter().flat_map(|key| super::list(one, key));
                all.collect::<Vec<_>>().join(" ")
            };
            let found: Vec<String> = missing(&[given], &[wanted]).iter().map(words).collect();
            assert_eq!(found, absent, "{case}");
        }
        let shown = "{Verbs:[get] APIGroups:[] Resources:[pods] ResourceNames:[a] NonResourceURLs:[]}";
        assert_eq!(told(&rule("get", "pods", "a")), shown);
    }
}
