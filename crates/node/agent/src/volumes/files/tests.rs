use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::gather::Gathered;
use super::super::token::Token;
use super::*;

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn gathered() -> Gathered {
    let map = json!({"data": {"a": "1", "b": "2"}, "binaryData": {"raw": "/w=="}});
    let mut gathered = Gathered::default();
    gathered.maps.insert("map".to_owned(), Ok(Some(Arc::new(from(map)))));
    gathered.maps.insert("none".to_owned(), Ok(None));
    gathered.secrets.insert("secret".to_owned(), Ok(Some(Arc::new(from(json!({"data": {"s": "eA=="}}))))));
    gathered.secrets.insert("none".to_owned(), Ok(None));
    let wanted = TokenWanted::of(&from(json!({"path": "t", "audience": "us"})));
    let token = Token { text: "secret".to_owned(), renew_at: Timestamp::UNIX_EPOCH };
    gathered.tokens.insert(wanted, Ok(token));
    gathered
}

fn pod(security: Value) -> Pod {
    let container = json!({"name": "c", "resources": {"limits": {"cpu": "1250m"}, "requests": {"memory": "32Mi"}},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/v/inner"}]});
    from(json!({
        "metadata": {"name": "p", "labels": {"k1": "v1", "k2": "v2"}},
        "spec": {"containers": [container], "securityContext": security},
    }))
}

/// One line for each file: path, mode, owner and content.
fn shown(source: Value, security: Value) -> String {
    let mut volume = source;
    volume["name"] = json!("v");
    let place = Place::default();
    let allocatable = HashMap::from([("memory".to_owned(), "1Gi".parse().unwrap())]);
    let known = Known { place: &place, allocatable: &allocatable };
    match of(&from(volume), &pod(security), &gathered(), known) {
        Err(cause) => cause.to_string(),
        Ok(None) => "no files".to_owned(),
        Ok(Some(files)) => {
            assert_eq!(files.folders, ["inner"]);
            let lines = files.files.iter().map(|file| {
                let owner = file.owner.map(|owner| format!(" {owner}")).unwrap_or_default();
                format!("{} {:o}{owner} {}", file.path, file.mode, file.bytes.escape_ascii())
            });
            lines.collect::<Vec<_>>().join("; ")
        }
    }
}

#[test]
fn a_volume_has_the_files_that_it_lists() {
    let projected = |sources: Value| json!({"projected": {"defaultMode": 0o440, "sources": sources}});
    let token = json!([{"serviceAccountToken": {"path": "t", "audience": "us"}}]);
    for (source, security, files) in [
        (json!({"emptyDir": {}}), json!({}), "no files"),
        (json!({"configMap": {"name": "map"}}), json!({}), r"a 644 1; b 644 2; raw 644 \xff"),
        (
            json!({"configMap": {"name": "map", "defaultMode": 0o400, "items": [
            {"key": "a", "path": "deep/x"}, {"key": "b", "path": "y", "mode": 0o777}]}}),
            json!({}),
            "deep/x 400 1; y 777 2",
        ),
        (
            json!({"configMap": {"name": "map", "items": [{"key": "z", "path": "z"}]}}),
            json!({}),
            "configmap references non-existent config key: z",
        ),
        (
            json!({"configMap": {"name": "map", "optional": true, "items": [
            {"key": "z", "path": "z"}, {"key": "a", "path": "a"}]}}),
            json!({}),
            "a 644 1",
        ),
        (json!({"configMap": {"name": "none"}}), json!({}), "configmap \"none\" not found"),
        (json!({"configMap": {"name": "none", "optional": true}}), json!({}), ""),
        (json!({"configMap": {"name": "unasked", "optional": true}}), json!({}), "not known yet"),
        (json!({"secret": {"secretName": "secret"}}), json!({}), "s 644 x"),
        (json!({"secret": {"secretName": "none"}}), json!({}), "secret \"none\" not found"),
        (
            json!({"secret": {"secretName": "secret", "items": [{"key": "z", "path": "z"}]}}),
            json!({}),
            "references non-existent secret key: z",
        ),
        (
            json!({"downwardAPI": {"items": [
                {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o400},
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                {"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}},
                {"path": "asked", "resourceFieldRef": {"containerName": "c", "resource": "requests.memory", "divisor": "1Mi"}},
                {"path": "all", "resourceFieldRef": {"containerName": "c", "resource": "limits.memory"}},
            ]}}),
            json!({}),
            r#"all 644 1073741824; asked 644 32; cpu 644 2; labels 644 k1=\"v1\"\nk2=\"v2\"; name 400 p"#,
        ),
        (
            projected(
                json!([{"secret": {"name": "secret"}}, {"configMap": {"name": "map", "items": [{"key": "a", "path": "s"}]}}]),
            ),
            json!({}),
            "s 440 1",
        ),
        (projected(token.clone()), json!({}), "t 440 secret"),
        (projected(token.clone()), json!({"runAsUser": 1000}), "t 600 1000 secret"),
        (projected(token), json!({"fsGroup": 7}), "t 600 secret"),
        (
            projected(json!([{"secret": {"name": "none"}}, {"configMap": {"name": "none"}}])),
            json!({}),
            "[secret \"none\" not found, configmap \"none\" not found]",
        ),
    ] {
        assert_eq!(shown(source.clone(), security.clone()), files, "{source} {security}");
    }
}
