use super::*;

#[test]
fn replaces_what_is_the_servers_own_choice_and_nothing_else() {
    for (case, before, after) in [
        ("uid", json!({"uid": "6f1c1f3e-0000-4000-8000-0123456789ab"}), json!({"uid": "<uid>"})),
        (
            "a uid in a message",
            json!({"message": "UID in object meta: 6f1c1f3e-0000-4000-8000-0123456789ab"}),
            json!({"message": "UID in object meta: <uid>"}),
        ),
        ("revision", json!({"resourceVersion": "12"}), json!({"resourceVersion": "<revision>"})),
        ("an empty revision stays", json!({"resourceVersion": ""}), json!({"resourceVersion": ""})),
        ("time", json!({"time": "2026-01-02T03:04:05Z"}), json!({"time": "<time>"})),
        (
            "a time that a case chose stays",
            json!({"renewTime": "2020-01-02T03:04:05Z"}),
            json!({"renewTime": "2020-01-02T03:04:05Z"}),
        ),
        ("a time in a list", json!(["2026-01-02T03:04:05Z"]), json!(["<time>"])),
        (
            "causes in one order and once",
            json!({"kind": "Status", "details": {"causes": [{"field": "b"}, {"field": "a"}, {"field": "b"}]}}),
            json!({"kind": "Status", "details": {"causes": [{"field": "a"}, {"field": "b"}]}}),
        ),
        (
            "addresses in a table",
            json!({"kind": "Table", "columnDefinitions": [{"name": "Cluster-IP", "description": "d"}, {"name": "Port(s)"}], "rows": [{"cells": ["10.0.0.1", "80:30123/TCP"]}]}),
            json!({"kind": "Table", "columnDefinitions": [{"name": "Cluster-IP"}, {"name": "Port(s)"}], "rows": [{"cells": ["<clusterIP>", "80:<nodePort>/TCP"]}]}),
        ),
        ("a time of another form stays", json!({"time": "yesterday"}), json!({"time": "yesterday"})),
        (
            "headless stays",
            json!({"clusterIP": "None", "clusterIPs": ["None"]}),
            json!({"clusterIP": "None", "clusterIPs": ["None"]}),
        ),
        ("address", json!({"clusterIPs": ["10.0.0.1"]}), json!({"clusterIPs": ["<clusterIP>"]})),
        (
            "generated name",
            json!({"generateName": "a-", "name": "a-x7k2p"}),
            json!({"generateName": "a-", "name": "a-<suffix>"}),
        ),
        (
            "a chosen name stays",
            json!({"generateName": "a-", "name": "b"}),
            json!({"generateName": "a-", "name": "b"}),
        ),
        (
            "managers in one order",
            json!({"managedFields": [{"manager": "b", "operation": "Update"}, {"manager": "a", "operation": "Update"}]}),
            json!({"managedFields": [{"manager": "a", "operation": "Update"}, {"manager": "b", "operation": "Update"}]}),
        ),
        (
            "a whole object in a message",
            json!({"message": r#"patch: Invalid value: "{\"a\":\"b\"}": unknown"#}),
            json!({"message": r#"patch: Invalid value: "<object>": unknown"#}),
        ),
        (
            "parts of an object in a message",
            json!({"message": r#"a: Invalid value: [{"b":1}]: no, c: Duplicate value: {"D":1}"#}),
            json!({"message": "a: Invalid value: <object>: no, c: Duplicate value: <object>"}),
        ),
        ("JSON in a text", json!({"a": r#"{"c": 1, "b": 2}"#}), json!({"a": r#"{"b":2,"c":1}"#})),
        (
            "types of a language",
            json!({"message": "into Go struct field PodSpec.spec.containers of type []v1.Container"}),
            json!({"message": "into Go struct field <type>.spec.containers of type <type>"}),
        ),
        (
            "ages of a later table of a watch",
            json!({"kind": "Table", "columnDefinitions": null, "rows": [{"cells": ["a", 2, "3m5s"]}]}),
            json!({"kind": "Table", "columnDefinitions": null, "rows": [{"cells": ["a", 2, "<age>"]}]}),
        ),
        (
            "ages of a table",
            json!({"kind": "Table", "columnDefinitions": [{"name": "Name"}, {"name": "Age"}], "rows": [{"cells": ["3s", "3s"]}]}),
            json!({"kind": "Table", "columnDefinitions": [{"name": "Name"}, {"name": "Age"}], "rows": [{"cells": ["3s", "<age>"]}]}),
        ),
    ] {
        let mut value = before;
        normalise(&mut value);
        assert_eq!(value, after, "{case}");
    }
}
