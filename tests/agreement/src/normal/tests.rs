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
        ("a time of another form stays", json!({"time": "yesterday"}), json!({"time": "yesterday"})),
        ("headless stays", json!({"clusterIP": "None", "clusterIPs": ["None"]}), json!({"clusterIP": "None", "clusterIPs": ["None"]})),
        ("address", json!({"clusterIPs": ["10.0.0.1"]}), json!({"clusterIPs": ["<clusterIP>"]})),
        ("generated name", json!({"generateName": "a-", "name": "a-x7k2p"}), json!({"generateName": "a-", "name": "a-<suffix>"})),
        ("a chosen name stays", json!({"generateName": "a-", "name": "b"}), json!({"generateName": "a-", "name": "b"})),
        (
            "managers in one order",
            json!({"managedFields": [{"manager": "b", "operation": "Update"}, {"manager": "a", "operation": "Update"}]}),
            json!({"managedFields": [{"manager": "a", "operation": "Update"}, {"manager": "b", "operation": "Update"}]}),
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
