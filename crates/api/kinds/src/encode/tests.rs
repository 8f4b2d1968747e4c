use prost::Message;
use serde_json::json;

use super::*;
use crate::builtin;
use crate::check::{Mode, check};
use crate::decode::{Media, body};

fn there_and_back(group: &str, version: &str, mut value: Value) {
    let kind = value["kind"].as_str().unwrap().to_owned();
    let node = builtin().schema_of(group, version, &kind).unwrap();
    let outcome = check(node, &mut value, Mode::Whole);
    assert!(outcome.is_clean(), "{outcome:?}");
    let bytes = protobuf(node, &value).unwrap();
    let mut back = body(&bytes, Media::Protobuf).unwrap().value;
    check(node, &mut back, Mode::Whole);
    assert_eq!(back, value);
}

#[test]
fn what_is_written_reads_back_the_same() {
    there_and_back(
        "",
        "v1",
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "labels": {"a": "", "b": "c"}, "creationTimestamp": "2024-05-01T10:00:00Z",
                "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]},
            "spec": {
                "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": false}}}],
                    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                    "livenessProbe": {"httpGet": {"port": "http", "path": "/"}, "timeoutSeconds": -1},
                    "readinessProbe": {"tcpSocket": {"port": 80}}}],
                "ephemeralContainers": [{"name": "e", "image": "x", "targetContainerName": "c"}],
                "volumes": [{"name": "v", "hostPath": {"path": "/x"}}, {"name": "w", "emptyDir": {}}],
                "terminationGracePeriodSeconds": 0, "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 300}],
            },
        }),
    );
    there_and_back(
        "coordination.k8s.io",
        "v1",
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"renewTime": "2023-11-14T22:13:20.123456Z", "leaseDurationSeconds": 15}}),
    );
    there_and_back(
        "",
        "v1",
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "AP8="}}),
    );
    there_and_back(
        "",
        "v1",
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "7"},
        "items": [{"metadata": {"name": "a"}, "data": {"x": "y"}}]}),
    );
    there_and_back(
        "admissionregistration.k8s.io",
        "v1",
        json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"], "scope": "*"}]}}}),
    );
    there_and_back(
        "apiextensions.k8s.io",
        "v1",
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "x"}, "spec": {"group": "g", "scope": "Cluster", "names": {"plural": "x", "kind": "X"}, "versions": [{
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "items": {"type": "string"},
            "additionalProperties": {"type": "integer"}, "dependencies": {"d": ["e"]}, "default": {"x": [1]}, "minimum": 1.5}}}]}}),
    );
    there_and_back(
        "authorization.k8s.io",
        "v1",
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "u", "extra": {"scopes": ["a", "b"]}}}),
    );
}

#[test]
fn others_can_read_it() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c",
        "livenessProbe": {"httpGet": {"port": 8080}}}], "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]}});
    let bytes = protobuf(builtin().schema_of("", "v1", "Pod").unwrap(), &pod).unwrap();
    let unknown =
        k8s_pb::apimachinery::pkg::runtime::Unknown::decode(bytes.strip_prefix(MAGIC).unwrap()).unwrap();
    assert_eq!(unknown.type_meta.unwrap().kind.as_deref(), Some("Pod"));
    let read = k8s_pb::api::core::v1::Pod::decode(unknown.raw.unwrap().as_slice()).unwrap();
    let spec = read.spec.unwrap();
    let probe = spec.containers[0].liveness_probe.clone().unwrap().handler.unwrap().http_get.unwrap();
    assert_eq!(probe.port.unwrap().int_val, Some(8080));
    let volume = spec.volumes[0].volume_source.clone().unwrap().empty_dir.unwrap();
    assert_eq!(volume.size_limit.unwrap().string.as_deref(), Some("1Gi"));

    let event = k8s_pb::apimachinery::pkg::apis::meta::v1::WatchEvent::decode(
        watch_event("ADDED", &bytes).as_slice(),
    )
    .unwrap();
    assert_eq!((event.r#type.as_deref(), event.object.unwrap().raw.unwrap()), (Some("ADDED"), bytes));
}
