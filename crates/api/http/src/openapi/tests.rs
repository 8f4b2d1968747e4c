use std::collections::BTreeSet;

use kedge_kinds::builtin;
use serde_json::{Value, json};

use super::OpenApi;

fn document(group: &str, version: &str) -> Value {
    let openapi = OpenApi::new(&builtin().kinds);
    serde_json::from_slice(&openapi.v3(group, version).unwrap().unwrap().plain().unwrap()).unwrap()
}

/// Every `$ref` anywhere in a document.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn the_index_names_every_group_and_version() {
    let openapi = OpenApi::new(&builtin().kinds);
    let index: Value = serde_json::from_slice(&openapi.index().unwrap()).unwrap();
    let paths = index["paths"].as_object().unwrap();
    let core = openapi.v3("", "v1").unwrap().unwrap();
    assert_eq!(paths["api/v1"]["serverRelativeURL"], format!("/openapi/v3/api/v1?hash={}", core.etag));
    assert!(paths.contains_key("apis/rbac.authorization.k8s.io/v1"));
    assert!(openapi.v3("apps", "v7").unwrap().is_none());
}

#[test]
fn no_reference_leads_nowhere() {
    let openapi = OpenApi::new(&builtin().kinds);
    for gv in openapi.v3.keys() {
        let document = document(&gv.group, &gv.version);
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(found.len() > 10, "{gv}");
        for reference in found {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            assert!(!document["components"]["schemas"][name].is_null(), "{gv}: {name}");
        }
    }
    let v2: Value = serde_json::from_slice(&openapi.v2().unwrap().plain().unwrap()).unwrap();
    let mut found = BTreeSet::new();
    references(&v2, &mut found);
    for reference in found {
        let name = reference.strip_prefix("#/definitions/").unwrap();
        assert!(!v2["definitions"][name].is_null(), "{name}");
    }
}

#[test]
fn kubectl_finds_what_it_looks_for() {
    let core = document("", "v1");
    let patch = &core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"];
    let names: Vec<&Value> = patch["parameters"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert_eq!(patch["operationId"], "patchCoreV1NamespacedPod");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "", "version": "v1", "kind": "Pod"}),
        "the field validation check looks by this"
    );
    assert!(!patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_null());
    let schemas = &core["components"]["schemas"];
    assert_eq!(
        schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"],
        json!([{"group": "", "version": "v1", "kind": "Pod"}]),
        "explain looks by this"
    );
    let containers = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(
        containers,
        &json!({"type": "array", "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"},
            "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-list-type": "map",
            "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge",
            "description": "Its programs. They run side by side."})
    );
    assert_eq!(schemas["io.k8s.api.core.v1.PodSpec"]["required"], json!(["containers"]));
    let policy = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["restartPolicy"];
    assert_eq!(
        policy,
        &json!({"type": "string", "enum": ["Always", "Never", "OnFailure"],
            "description": "Whether containers that end are restarted: Always, OnFailure or Never."})
    );
    let spec = &schemas["io.k8s.api.core.v1.Pod"]["properties"]["spec"];
    assert_eq!(
        spec,
        &json!({"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}], "description": "What shall run."}),
        "nothing may stand beside a reference"
    );
}

#[test]
fn operations_have_the_names_that_generated_clients_use() {
    for (group, version, path, method, id) in [
        ("", "v1", "/api/v1/pods", "get", "listCoreV1PodForAllNamespaces"),
        ("", "v1", "/api/v1/namespaces/{namespace}/pods", "delete", "deleteCoreV1CollectionNamespacedPod"),
        (
            "",
            "v1",
            "/api/v1/namespaces/{namespace}/pods/{name}/exec",
            "post",
            "connectCoreV1PostNamespacedPodExec",
        ),
        ("", "v1", "/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "readCoreV1NamespacedPodLog"),
        (
            "",
            "v1",
            "/api/v1/namespaces/{namespace}/pods/{name}/eviction",
            "post",
            "createCoreV1NamespacedPodEviction",
        ),
        ("", "v1", "/api/v1/nodes/{name}", "get", "readCoreV1Node"),
        (
            "apps",
            "v1",
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
            "put",
            "replaceAppsV1NamespacedDeploymentScale",
        ),
        (
            "rbac.authorization.k8s.io",
            "v1",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "post",
            "createRbacAuthorizationV1ClusterRole",
        ),
    ] {
        assert_eq!(document(group, version)["paths"][path][method]["operationId"], id, "{method} {path}");
    }
}

#[test]
fn the_same_kinds_give_the_same_documents() {
    let [first, second] = [(); 2].map(|()| {
        let openapi = OpenApi::new(&builtin().kinds);
        (
            openapi.index().unwrap(),
            openapi.v2().unwrap().etag.clone(),
            openapi.v2_protobuf().unwrap().etag.clone(),
        )
    });
    assert_eq!(first, second);
    let fewer = OpenApi::new(&builtin().kinds[1..]);
    assert_ne!(fewer.v2().unwrap().etag, first.1);
}

#[test]
fn what_is_kept_is_small() {
    let openapi = OpenApi::new(&builtin().kinds);
    openapi.index().unwrap();
    let v3: usize = openapi.v3.values().map(|part| part.document.get().unwrap().gzip.len()).sum();
    let rest = openapi.v2().unwrap().gzip.len() + openapi.v2_protobuf().unwrap().gzip.len();
    assert!(v3 < 1_000_000 && rest < 500_000, "v3 {v3}, v2 {rest} bytes compressed");
}

/// The fields of a protobuf message that have content: number and content.
fn messages(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        assert_eq!(key & 7, 2, "only fields with a length stand here");
        let length = usize::try_from(varint(&mut bytes)).unwrap();
        let (content, rest) = bytes.split_at(length);
        bytes = rest;
        found.push((key >> 3, content));
    }
    found
}

#[test]
fn protobuf_holds_what_json_holds() {
    let openapi = OpenApi::new(&builtin().kinds);
    let v2: Value = serde_json::from_slice(&openapi.v2().unwrap().plain().unwrap()).unwrap();
    let protobuf = openapi.v2_protobuf().unwrap().plain().unwrap();
    let document = messages(&protobuf);
    assert_eq!(document[0], (1, &b"2.0"[..]));
    for (number, inner, field) in [(8, 2, "paths"), (9, 1, "definitions")] {
        let all = document.iter().find(|(found, _)| *found == number).unwrap().1;
        let names: BTreeSet<&str> = messages(all)
            .into_iter()
            .map(|(found, named)| {
                assert_eq!(found, inner, "{field}");
                std::str::from_utf8(messages(named)[0].1).unwrap()
            })
            .collect();
        assert_eq!(names, v2[field].as_object().unwrap().keys().map(String::as_str).collect(), "{field}");
    }
}
