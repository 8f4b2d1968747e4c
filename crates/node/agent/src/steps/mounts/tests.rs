use serde_json::{Value, json};

use super::*;

fn mount(more: Value) -> VolumeMount {
    let mut mount = json!({"name": "v", "mountPath": "/v"});
    mount.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(mount).unwrap()
}

#[test]
fn the_place_below_a_volume_is_named_or_refused() {
    let environment: BTreeMap<_, _> = [("A", "one"), ("EMPTY", ""), ("ROOT", "/tmp"), ("UP", "../x")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    for (wanted, told) in [
        (json!({}), ""),
        (json!({"subPath": ""}), ""),
        (json!({"subPath": "a/b"}), "a/b"),
        (json!({"subPath": "$(A)"}), "$(A)"),
        (json!({"subPathExpr": "$(A)/x"}), "one/x"),
        (json!({"subPath": "/a"}), "error SubPath `/a` must not be an absolute path"),
        (json!({"subPath": "a/../b"}), "unable to provision SubPath `a/../b`: must not contain '..'"),
        (json!({"subPath": "a..b"}), "a..b"),
        (json!({"subPathExpr": "$(ROOT)"}), "error SubPath `/tmp` must not be an absolute path"),
        (json!({"subPathExpr": "$(UP)"}), "unable to provision SubPath `../x`: must not contain '..'"),
        (json!({"subPathExpr": "$(EMPTY)/$(NONE)/$(A)"}), "missing value for EMPTY, NONE"),
    ] {
        let found = sub_path(&mount(wanted.clone()), &environment);
        let found = found.map(Option::unwrap_or_default).unwrap_or_else(|error| error.to_string());
        assert_eq!(found, told, "{wanted}");
    }
}

#[test]
fn read_only_all_the_way_down_is_done_or_refused() {
    let ways = "but it is not compatible with propagation \"HostToContainer\"";
    for (wanted, told) in [
        (json!({}), "false"),
        (json!({"readOnly": true}), "false"),
        (json!({"readOnly": true, "recursiveReadOnly": "Disabled"}), "false"),
        (json!({"readOnly": true, "recursiveReadOnly": "IfPossible"}), "true"),
        (json!({"readOnly": true, "recursiveReadOnly": "Enabled", "mountPropagation": "None"}), "true"),
        (json!({"recursiveReadOnly": "Enabled"}), "but it is not read-only"),
        (
            json!({"readOnly": true, "recursiveReadOnly": "Enabled", "mountPropagation": "HostToContainer"}),
            ways,
        ),
    ] {
        let found = is_recursively_read_only(&mount(wanted.clone()));
        let found = found.map(|found| found.to_string()).unwrap_or_else(|error| error.to_string());
        assert!(found.ends_with(told), "{wanted}: {found}");
    }
}
