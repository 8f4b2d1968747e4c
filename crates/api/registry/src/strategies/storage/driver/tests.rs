use serde_json::{Value, json};

use super::*;
use crate::strategies::tests::created;

fn driver(spec: Value) -> Value {
    created(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "d"}, "spec": spec,
    }))
}

#[test]
fn tokens_in_the_open_are_warned_about_when_they_come() {
    let requests = json!([{"audience": "a"}]);
    let quiet = driver(json!({}));
    let open = driver(json!({"tokenRequests": requests}));
    let secret = driver(json!({"tokenRequests": requests, "serviceAccountTokenInSecrets": false}));
    for (case, driver, count) in [("none", &quiet, 0), ("open", &open, 1), ("decided", &secret, 0)] {
        assert_eq!(Drivers.warnings(driver).len(), count, "{case}");
    }
    assert!(Drivers.warns_again(&open, &quiet));
    assert!(!Drivers.warns_again(&open, &open));
}

#[test]
fn only_changes_are_counted() {
    let old = driver(json!({}));
    for (case, spec, expected) in
        [("same", json!({}), None), ("changed", json!({"seLinuxMount": true}), Some(1))]
    {
        let (mut new, mut old) = (driver(spec), old.clone());
        for driver in [&mut new, &mut old] {
            driver["metadata"].as_object_mut().unwrap().remove("generation");
        }
        Drivers.prepare_update(&mut new, &old);
        assert_eq!(new["metadata"]["generation"].as_i64(), expected, "{case}");
    }
}
